import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";

const SRC = join(import.meta.dirname, "..");

/** Rows of the page, with what the code says of them: a file, and its text. */
const ROWS: readonly (readonly [row: string, says: string, file: string, code: string])[] = [
  [
    "ended runs",
    "200 of a stack and 400 days",
    "retention/expire-runs.ts",
    "perStack: 200,\n  maxAgeMs: 400 * DAY_MS",
  ],
  ["events and logs of ended runs", "90 days", "retention/expire-runs.ts", "logAgeMs: 90 * DAY_MS"],
  [
    "answers to requests",
    "24 hours",
    "domain/server-kinds.ts",
    "IDEMPOTENCY_KEPT_MS = 24 * 3_600_000",
  ],
  [
    "answers to requests",
    "encrypted ones up to 16 KiB",
    "api/idempotency/request-once.ts",
    "MAX_KEPT_BYTES = 16 * 1024",
  ],
  [
    "configurations",
    "50 of a stack, those of the last 48 hours",
    "retention/expire-configurations.ts",
    "PER_STACK = 50;\nconst YOUNG_MS = 48 *",
  ],
  ["login sessions", "12 hours without use, 7 days", "access/login-sessions.ts", "12 * "],
  [
    "codes of logins",
    "10 minutes",
    "device-login/device-logins.ts",
    "DEVICE_LOGIN_MS = 10 * 60_000",
  ],
  [
    "tokens",
    "90 days by default, 366 at most",
    "api/access/token-routes.ts",
    "DEFAULT_DAYS = 90;\nconst MAX_DAYS = 366",
  ],
  [
    "notifications that are not",
    "10 attempts, 24 hours",
    "notify/settle-delivery.ts",
    "MAX_ATTEMPTS = 10;\nconst MAX_AGE_MS = 24 *",
  ],
  [
    "a configuration as it is",
    "100 MiB",
    "configuration/configuration-limits.ts",
    "MAX_PACKED_BYTES = 100 * 1024 * 1024",
  ],
  ["runs that wait", "100", "queue/enqueue.ts", "MAX_PENDING = 100"],
  ["runs of a stack that only", "20", "queue/enqueue.ts", "MAX_SPECULATIVE = 20"],
  ["attempts at a step", "3; recoveries of an apply 10", "queue/release.ts", "MAX_RECOVERIES = 10"],
  ["a step whose key", "60 seconds", "worker/live-servers.ts", "KEY_WAIT_MS = 60_000"],
  ["stacks of a plan set", "20", "plan-set/create-plan-set.ts", "MAX_MEMBERS = 20"],
  ["output of one hook", "8 MiB", "executor/run-hooks.ts", "MAX_OUTPUT = 8 * 1024 * 1024"],
  ["hooks of a project", "256 KiB", "api/hooks/hook-routes.ts", "MAX_BYTES = 256 * 1024"],
  ["schedules of a stack", "20", "api/schedules/schedule-routes.ts", "MAX_SCHEDULES = 20"],
  ["triggers of a stack", "20, 5,000", "api/triggers/trigger-routes.ts", "MAX_OF_ACCOUNT = 5_000"],
  [
    "checks for drift",
    "20 of an account; of all accounts 100",
    "drift/open-checks.ts",
    "MAX_OF_ACCOUNT = 20;\nconst MAX_OPEN = 100",
  ],
  [
    "variables of a stack",
    "1,000, 2 MiB",
    "variables/stack-variables.ts",
    "MAX_STACK_VARIABLES = 1_000",
  ],
  [
    "variable sets of a project",
    "100, with 200",
    "variables/set-variables.ts",
    "MAX_SETS = 100;\nconst MAX_SET_VARIABLES = 200",
  ],
  [
    "a state that terraform",
    "512 MiB",
    "terraform-state/state-content.ts",
    "MAX_STATE_BYTES = 512 * 1024 ** 2",
  ],
  [
    "states elsewhere",
    "256 MiB together",
    "../../../packages/core/src/providers/former-backends.ts",
    "ISOLATED_RUN_BYTES = 256 * 1024 * 1024",
  ],
  [
    "policy sets of an account",
    "50",
    "api/policy-sets/policy-set-routes.ts",
    "MAX_SETS = 50;\nconst MAX_VERSIONS = 20",
  ],
  ["an upload", "4 MiB", "policy/policy-limits.ts", "MAX_POLICY_BYTES = 4 * MIB"],
  ["findings of a set", "200", "policy/policy-limits.ts", "MAX_FINDINGS = 200"],
  [
    "plans that one replay judges",
    "100, within 2 minutes",
    "policy/replay-policy.ts",
    "REPLAY_MS = 2 * 60_000",
  ],
  ["connections of a project", "100", "api/vcs/connection-routes.ts", "MAX_CONNECTIONS = 100"],
  [
    "a file, a configuration",
    "32 MiB, 512 MiB",
    "vcs/stack-files.ts",
    "MAX_TOTAL_BYTES = 512 * 1024 * 1024",
  ],
  ["files of a repository", "200,000", "vcs/git/git-repository.ts", "MAX_ENTRIES = 200_000"],
  ["open pull requests", "500", "vcs/check-connection.ts", "MAX_HEADS = 500"],
  ["a comment", "60,000 bytes", "vcs/pull-request-report.ts", "MAX_COMMENT_BYTES = 60_000"],
  [
    "destinations of a project",
    "20",
    "api/notifications/notification-routes.ts",
    "MAX_DESTINATIONS = 20",
  ],
  ["events that wait for", "1,000", "notify/notification-worker.ts", "MAX_WAITING = 1_000"],
  ["audit webhooks of an account", "5", "api/audit/audit-webhook-routes.ts", "MAX_WEBHOOKS = 5"],
  ["entries in a request", "100", "audit-webhook/audit-forwarder.ts", "BATCH = 100"],
  ["accounts of a server", "10,000", "api/accounts/account-routes.ts", "MAX_ACCOUNTS = 10_000"],
  ["users, teams of an account", "10,000 and 1,000", "access/user-room.ts", "MAX_USERS = 10_000"],
  ["members of a team", "1,000", "api/access/team-routes.ts", "MAX_MEMBERS = 1_000"],
  ["roles that are given", "20,000", "access/give-role.ts", "MAX_ROLES = 20_000"],
  ["identities of a user", "20", "api/access/identity-routes.ts", "MAX_IDENTITIES = 20"],
  [
    "tokens and access keys of a user",
    "200",
    "../../../packages/registry/src/access/credential-owner.ts",
    "MAX_OF_OWNER = 200",
  ],
  ["open codes that sign", "5 of a user", "sign-in/console-codes.ts", "MAX_OF_OWNER = 5"],
  [
    "open codes of logins",
    "10 of an address, 50 of a network, 1,000 in all",
    "device-login/device-logins.ts",
    "MAX_OF_NETWORK = 50",
  ],
  [
    "changes of providers that a stack notes",
    "200",
    "domain/provider-reaction.ts",
    "MAX_NOTICES = 200",
  ],
  [
    "streams of events",
    "2,000, of one account 1,500",
    "api/event-streams.ts",
    "all: 2_000, account: 1_500",
  ],
  [
    "calls of the storage service at once",
    "4,096; 1,024 of an account; 512 of a token",
    "storage-endpoint.ts",
    "all: 4_096, perAccount: 1_024, perToken: 512",
  ],
  [
    "an archive of a module",
    "10 MiB",
    "modules/publish-module.ts",
    "MAX_MODULE_BYTES = 10 * 1024 * 1024",
  ],
  ["versions of a module", "1,000", "modules/publish-module.ts", "MAX_VERSIONS = 1_000"],
];

/** What the page says of the kinds that are kept for a time of their own. */
const RETENTION: Readonly<Record<string, string>> = {
  "with the run": "200 of a stack and 400 days",
  "with its runs": "with their runs",
  "10 minutes": "10 minutes",
  "24 h": "24 hours",
  "50 per stack": "50 of a stack",
  "100 per stack": "100 of a stack",
  "50 per stack set": "50 of a stack set",
  "7 days": "7 days",
  "30 days": "30 days",
  "with the stack": "what belongs to a stack or a project, with it",
  "until deleted": "until they are deleted",
};

async function page(): Promise<readonly (readonly string[])[]> {
  const text = await readFile(join(SRC, "../docs/limits.md"), "utf8");
  return text
    .split("\n")
    .filter((line) => line.startsWith("| "))
    .map((line) => line.split("|").map((cell) => cell.trim()));
}

it("the page of limits says what the code does", async () => {
  const rows = await page();
  for (const [name, says, file, code] of ROWS) {
    const row = rows.find(([, first = ""]) => first.startsWith(name));
    expect([name, row?.[2]]).toEqual([name, expect.stringContaining(says)]);
    const source = await readFile(join(SRC, file), "utf8");
    const squeezed = source.replaceAll(/\/\*\*(?:[^*]|\*(?!\/))*\*\/\n/g, "");
    expect([file, squeezed.includes(code)]).toEqual([file, true]);
  }
});

it("the page of limits says how long each kind is kept", async () => {
  const kept = (await page()).map(([, , says = ""]) => says).join("\n");
  for (const [name, { retention }] of Object.entries(SERVER_KINDS)) {
    // What works off what is left is no content.
    if (retention === "while needed") continue;
    expect([name, retention, kept]).toEqual([
      name,
      retention,
      expect.stringContaining(RETENTION[retention] ?? "a time that the page does not know"),
    ]);
  }
});
