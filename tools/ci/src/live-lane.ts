// One lane of the live tests: runs the files that it takes from a queue, one after the other, until there are no more
// or the time is up. The report of all of them is that of one run.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createVitest } from "vitest/node";
import { LiveQueue } from "./live-queue.ts";

const { values } = parseArgs({
  options: {
    queue: { type: "string" },
    /** Milliseconds since the epoch; from then on no file begins. */
    until: { type: "string" },
  },
});
const { queue: folder, until } = values;
if (folder === undefined || until === undefined) throw new Error("--queue and --until are needed");

const root = join(import.meta.dirname, "..", "..", "..");
const queue = new LiveQueue(folder);
const vitest = await createVitest({
  root,
  config: join(root, "vitest.live.config.ts"),
  run: true,
  watch: false,
});
try {
  await vitest.standalone();
  const specifications = new Map(
    (await vitest.globTestSpecifications()).map((one) => [one.moduleId, one]),
  );
  while (Date.now() < Number(until)) {
    const file = queue.take();
    if (file === undefined) break;
    const specification = specifications.get(join(root, file));
    if (specification === undefined) throw new Error(`vitest does not know the test file ${file}`);
    await vitest.runTestSpecifications([specification]);
  }
} finally {
  await vitest.close();
}
