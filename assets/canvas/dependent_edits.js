/**
 * Which of the waiting edits make no sense without one that cannot be stored.
 *
 * An edit of a segment or class that the failed one would have made ("@7") goes with it. An undo that the person meant
 * for the failed edit must not take back an earlier one instead: the two cancel each other.
 */

/** `kept`: the failed edit and what depends on it; `gone`: what the person took back, and the undo and redo of that. */
export function dependentEdits(failed, waiting) {
  const kept = new Set([failed]);
  const gone = new Set();
  const done = hasHistory(failed) ? [failed] : [];
  let undone = [];
  const later = waiting.slice(waiting.indexOf(failed) + 1).filter((edit) => edit.nonce === failed.nonce);
  for (const edit of later) {
    const { act } = edit.act;
    const here = edit.bag === failed.bag;
    if (act === "undo" || act === "redo") {
      const [from, to] = act === "undo" ? [done, undone] : [undone, done];
      const meant = here ? from.pop() : undefined;
      if (meant) to.push(meant);
      if (kept.has(meant) || gone.has(meant)) cancel(edit, meant, act === "undo");
    } else {
      if ([...kept, ...gone].some((one) => refersTo(edit, one))) kept.add(edit);
      if (here && hasHistory(edit)) {
        done.push(edit);
        undone = [];
      }
    }
  }
  return { kept: [...kept], gone: [...gone] };

  function cancel(edit, meant, isUndo) {
    gone.add(edit);
    (isUndo ? gone : kept).add(meant);
    (isUndo ? kept : gone).delete(meant);
  }
}

/** A new class belongs to no bag, so undo in a bag never means it. */
function hasHistory(edit) {
  return edit.act.act !== "add_class";
}

function refersTo(edit, made) {
  const { segment, segments = [], class: classId, label } = edit.act;
  const name = `@${made.number}`;
  return [segment, classId, label, ...segments].some((id) => id === name || String(id).startsWith(`${name}.`));
}
