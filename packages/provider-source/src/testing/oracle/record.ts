import { askAddresses } from "./ask-addresses.ts";
import { askConstraints } from "./ask-constraints.ts";
import { askLockFile, type LockAnswer } from "./ask-lock-file.ts";
import { findCommand } from "./command.ts";
import { writeAnswers } from "./fixtures.ts";
import {
  RECORDED_QUESTIONS,
  RECORDED_SOURCES,
  STRICTER_QUESTIONS,
  STRICTER_THAN_COMMAND,
} from "./inputs.ts";
import { LOCK_SCENARIOS } from "./lock-scenario.ts";

/*
 * Records what the real command answers: `node packages/provider-source/src/testing/oracle/record.ts`. Needs
 * `terraform` 1.11 on linux_amd64 and Python; no network beyond loopback.
 */
const command = await findCommand();
if ("missing" in command) throw new Error(command.missing);
const lockFiles: LockAnswer[] = [];
for (const scenario of LOCK_SCENARIOS) lockFiles.push(await askLockFile(command, scenario));
await writeAnswers({
  version: command.version,
  addresses: await askAddresses(command, [...RECORDED_SOURCES, ...STRICTER_THAN_COMMAND]),
  constraints: await askConstraints(command, [...RECORDED_QUESTIONS, ...STRICTER_QUESTIONS]),
  lockFiles,
});
