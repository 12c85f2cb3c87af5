import { spawnSync } from "node:child_process";
import { join } from "node:path";
import process from "node:process";

// `npm start`: deploys examples/quickstart on its embedded store, shows that a second run has nothing to do,
// and says how to go on. Everything it makes lies in that folder.
const root = join(import.meta.dirname, "..", "..");
const quickstart = join(root, "examples/quickstart");
const stackwright = join(root, "apps/engine/bin/stackwright.mjs");

function run(what: string, words: readonly string[], good: readonly number[] = [0]): void {
  process.stdout.write(`\n--- ${what}\n`);
  const { status } = spawnSync(process.execPath, words, {
    cwd: quickstart,
    stdio: "inherit",
    timeout: 300_000,
  });
  if (status === null || !good.includes(status)) {
    process.stdout.write(`\nThis step failed (exit code ${status}); the messages above say why.\n`);
    process.exit(1);
  }
}

run("the provider of the example is put where installations look for it", ["install-provider.ts"]);
run("stackwright up: plan and apply", [stackwright, "up", "--yes"]);
run("stackwright plan: a second run has nothing to do", [
  stackwright,
  "plan",
  "--detailed-exitcode",
]);
run("stackwright output", [stackwright, "output"]);

process.stdout.write(`
The site is in examples/quickstart/site/, its state in examples/quickstart/.stackwright/.

To go on:
  cd examples/quickstart
  npx stackwright up -var title=Mine    change something
  npx stackwright show                  what is recorded
  npx stackwright destroy               take everything away
  npx stackwright --help                everything else

examples/ has programs that use the libraries alone, packages/*/README.md describes each library.
`);
