import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startVariables } from "../testing/start-variables.ts";

const CLIENT = process.env["TEST_TOOL_TFE_CLIENT"] ?? "";

interface Line {
  readonly step: string;
  readonly value: unknown;
  readonly error?: string;
  readonly notFound?: boolean;
}

it("HashiCorp's client writes and reads variables and variable sets", async (context) => {
  context.skip(CLIENT === "", "TEST_TOOL_TFE_CLIENT is not set");
  const { server, first, workspace } = await startVariables();
  const id = await workspace("shop", "web");
  const { stdout } = await promisify(execFile)(CLIENT, ["default", id, "prj-web"], {
    env: { TFE_ADDRESS: server.url, TFE_TOKEN: first.token },
    timeout: 60_000,
  });
  const lines = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const found = Object.fromEntries(
    lines.map(({ step, value, error, notFound }) => [
      step,
      error === undefined ? value : notFound === true ? "not found" : error,
    ]),
  );
  const own = { key: "who", description: "d", category: "terraform", owner: id };
  const secret = { key: "TOKEN", value: "", category: "env", sensitive: true };
  const shared = {
    name: "shared",
    description: "for all",
    global: false,
    priority: false,
    organization: "default",
    parent: "",
    workspaces: [],
    projects: [],
    variables: [],
  };
  const owner = expect.stringMatching(/^varset-[a-zA-Z0-9]{16}$/) as string;
  expect(found).toEqual({
    variable: { ...own, value: "ann", sensitive: false },
    "variable updated": { ...own, value: "", sensitive: true },
    "variable no longer sensitive": expect.stringContaining('"sensitive" cannot become false'),
    "variable taken": expect.stringContaining("Key has already been taken"),
    "variable read": { ...own, value: "", sensitive: true },
    set: shared,
    "set of a project": { ...shared, name: "own", description: "", parent: "prj-web" },
    "set variable": { ...secret, description: "", owner },
    "set variable updated": { ...secret, description: "kept", owner },
    "set variable read": { ...secret, description: "kept", owner },
    "apply to workspaces": null,
    "apply to projects": null,
    "set read": {
      ...shared,
      workspaces: [`${id} shop`],
      projects: ["prj-web web"],
      variables: ["TOKEN"],
    },
    sets: { names: ["own", "shared"], total: 2 },
    "sets of the workspace": { names: ["shared"], total: 1 },
    "sets of the project": { names: ["shared"], total: 1 },
    "own variables": ["who="],
    "all variables": ["who=", "TOKEN="],
    "remove from projects": null,
    "workspaces updated": { ...shared, workspaces: [`${id} shop`], variables: [""] },
    "remove from workspaces": null,
    "set updated": {
      ...shared,
      description: "",
      global: true,
      priority: true,
      variables: [""],
    },
    "set variable deleted": null,
    "set deleted": null,
    "set gone": "not found",
    "variable deleted": null,
    "variable gone": "not found",
  });
});
