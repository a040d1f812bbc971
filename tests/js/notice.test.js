import { Disposables } from "/assets/disposables.js";
import { element } from "/assets/dom.js";
import { Notice } from "/assets/notice.js";
import { equal, test } from "/tests/check.js";

test("after a question the picture has the focus again", () => {
  const notice = new Notice(new Disposables());
  const picture = element("div", { tabIndex: 0 }, notice.node);
  document.body.append(picture);
  const answers = [];
  for (const name of ["Yes", "No"]) {
    const question = { sentence: "Remove the tag and the labels?" };
    notice.ask(question, (agrees) => answers.push(agrees));
    equal([document.activeElement.textContent, notice.question], ["Yes", question]);
    [...notice.node.querySelectorAll("button")].find((one) => one.textContent === name).click();
    equal([document.activeElement === picture, notice.node.hidden, notice.question], [true, true, null]);
  }
  equal(answers, [true, false]);
  picture.remove();
});
