// The process that runs tests in a sandbox, one file after the other, as its parent asks for. It keeps vitest and what is
// transformed between two requests; a mutant that never ends is ended with this process.
import { relative } from "node:path";
import { createVitest, type TestSpecification } from "vitest/node";
import type { TestAnswer, TestRequest } from "./test-messages.ts";

const [root = "", projects = ""] = process.argv.slice(2);
process.chdir(root);
const failed = { yes: false };
const vitest = await createVitest("test", {
  root,
  watch: false,
  project: projects.split(","),
  maxWorkers: 1,
  bail: 0,
  retry: 0,
  reporters: [
    {
      onTestCaseResult: (test) => {
        if (test.result().state !== "failed" || failed.yes) return;
        failed.yes = true;
        void vitest.cancelCurrentRun("test-failure");
      },
    },
  ],
});
await vitest.standalone();
const specifications = new Map<string, TestSpecification>();
for (const specification of await vitest.globTestSpecifications()) {
  specifications.set(relative(root, specification.moduleId), specification);
}
const send = (answer: TestAnswer): void => void process.send?.(answer);

process.on("message", (request: TestRequest) => {
  void answer(request);
});
process.on("disconnect", () => process.exit());
send({ type: "ready", tests: [...specifications.keys()] });

async function answer({ changed, test }: TestRequest): Promise<void> {
  for (const path of changed) vitest.invalidateFile(path);
  const specification = specifications.get(test);
  if (specification === undefined) {
    send({ type: "done", failed: false, milliseconds: 0 });
    return;
  }
  failed.yes = false;
  // Both are kept from run to run.
  vitest.state.clearErrors();
  const start = performance.now();
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([specification]);
  const own = testModules.find(({ moduleId }) => moduleId === specification.moduleId);
  send({
    type: "done",
    failed:
      failed.yes ||
      unhandledErrors.length > 0 ||
      own?.state() === "failed" ||
      (own?.errors().length ?? 0) > 0,
    milliseconds: performance.now() - start,
  });
}
