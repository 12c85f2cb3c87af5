import { PassThrough, Readable } from "node:stream";
import type { StateBackend } from "@stackwright/tfstate/backend";
import { describe, expect, it } from "vitest";
import { createContext } from "../command-context.ts";
import { folderWith, RESOURCE, STATE } from "../testing/adoption-folder.ts";
import { adoptWorkspaces, type RootReport } from "./adopt-workspaces.ts";
import { workspaceText } from "./adoption-report.ts";

/** A backend that has the same state in each workspace. */
function backendWith(...names: readonly string[]): StateBackend {
  return {
    type: "pg",
    place: (workspace) => `schema s, workspace ${workspace}`,
    workspaces: async () => names,
    read: async () => Buffer.from(STATE),
    write: async () => undefined,
    lock: async (_workspace, { ID }) => ({
      id: ID,
      outlivesProcess: true,
      release: async () => undefined,
    }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Reports on the workspaces of a root module in the folder `root`. */
async function reportOn(
  files: Readonly<Record<string, string>>,
  ...names: readonly string[]
): Promise<RootReport["workspaces"]> {
  const { path } = await folderWith({ "root/main.tf": RESOURCE, ...files });
  const never = new AbortController().signal;
  const streams = {
    input: Readable.from([]),
    output: new PassThrough(),
    error: new PassThrough(),
    env: {},
  };
  const process = { streams, cwd: path("root"), signal: never, forceSignal: never };
  const report = await adoptWorkspaces(
    {
      dryRun: true,
      acceptChanges: false,
      old: "none",
      mirror: false,
      workspace: [],
      backendConfig: [],
      inputs: [],
      destroy: false,
      lockTimeout: "0s",
      parallelism: "1",
      refresh: true,
      refreshOnly: false,
      target: [],
      targetFile: [],
      exclude: [],
      excludeFile: [],
      replace: [],
      compactWarnings: false,
      input: false,
      json: false,
    },
    createContext(process, {}),
    { directory: ".", stackOf: () => "some", open: async () => backendWith(...names) },
  );
  expect(report.problem).toBeUndefined();
  return report.workspaces;
}

describe("the name of a workspace in a foreign backend", () => {
  const DAMAGED = "}{";

  it.each(["env/dev.tfvars", "dev.tfvars", "dev/terraform.tfvars"])("finds %s", async (file) => {
    const [report] = await reportOn({ [`root/${file}`]: DAMAGED }, "dev");
    expect(report).toMatchObject({ verdict: "failed" });
  });

  it.each([
    ["../x", "x.tfvars"],
    ["../../x", "x.tfvars"],
    ["..", "terraform.tfvars"],
    [".", "root/env/terraform.tfvars"],
    ["a/../../x", "x.tfvars"],
    ["dev/x", "root/dev/x.tfvars"],
    ["", "root/env/.tfvars"],
    ["\\x", "root/env/\\x.tfvars"],
  ])("%j is no part of a path", async (name, file) => {
    const [report] = await reportOn({ [file]: DAMAGED }, name);
    expect(report).toMatchObject({ workspace: name, verdict: "adoptable" });
  });

  it("moves no cursor where it is shown", async () => {
    const [report] = await reportOn({}, "a\u001b[2J\u009b1m\nAdopted as the stack");
    expect(report).toBeDefined();
    if (report === undefined) return;
    const text = workspaceText(report);
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    expect(text).toContain("a\\u001b[2J\\u009b1m\\u000aAdopted");
  });
});
