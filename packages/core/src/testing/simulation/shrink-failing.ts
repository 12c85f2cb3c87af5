/**
 * Makes a failing case smaller for as long as it still fails. `smaller` gives what is one step simpler, the largest steps
 * first. At most `maxAttempts` cases are tried.
 */
export async function shrinkFailing<C>(
  failing: C,
  smaller: (given: C) => Iterable<C>,
  fails: (candidate: C) => Promise<boolean>,
  maxAttempts = 300,
): Promise<C> {
  let smallest = failing;
  let attempts = 0;
  for (let improved = true; improved && attempts < maxAttempts; ) {
    improved = false;
    for (const candidate of smaller(smallest)) {
      attempts += 1;
      if (attempts > maxAttempts) break;
      if (!(await fails(candidate))) continue;
      smallest = candidate;
      improved = true;
      break;
    }
  }
  return smallest;
}
