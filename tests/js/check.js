/** What unit tests of the canvas use: `test` registers one, `equal` compares values by their JSON. */
export const tests = [];

export function test(name, run) {
  tests.push({ name, run });
}

export function equal(found, expected, what = "") {
  const [a, b] = [found, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`${what || "value"}: ${a} is not ${b}`);
}

/** Wait until a condition holds: a busy machine is no failure. */
export async function until(condition) {
  for (let waited = 0; !condition(); waited += 5) {
    if (waited > 60000) throw new Error(`it did not happen: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Run all tests of a module; returns [name, error or null] pairs. */
export async function runTests(address) {
  await import(address);
  const results = [];
  for (const { name, run } of tests) {
    try {
      await run();
      results.push([name, null]);
    } catch (problem) {
      results.push([name, String(problem.stack ?? problem)]);
    }
  }
  return results;
}
