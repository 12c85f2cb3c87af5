import { expect, it } from "vitest";
import { startApi } from "../../testing/start-api.ts";

const NETWORK =
  'resource "terraform_data" "a" { input = "x" }\noutput "vpc" { value = "one" }\noutput "cidr" { value = "c" }\n';
const READER = `
data "terraform_remote_state" "network" {
  backend = "stackwright"
  config  = { project = "web", stack = "network" }
}
resource "terraform_data" "b" { input = data.terraform_remote_state.network.outputs.vpc }
`;

it("the plan of a run names the stacks that depend on what it changes, as far as the caller may see them", {
  timeout: 90_000,
}, async () => {
  const { call, upload, tokenOf } = await startApi();
  const at = (project: string, stack: string) => `/api/v1/projects/${project}/stacks/${stack}`;
  for (const [project, stack] of [
    ["web", "network"],
    ["web", "app"],
    ["base", "hidden"],
  ] as const) {
    await call("POST", `/api/v1/projects/${project}/stacks`, { body: { name: stack } });
  }
  const start = async (stack: string, main: string, apply: boolean) => {
    const { digest } = (await upload({ "main.tf": main }, stack)).json;
    const made = await call("POST", `${at("web", stack)}/runs`, {
      body: { configuration: digest, auto_apply: apply },
    });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    const run = `${at("web", stack)}/runs/${String(made.json["id"])}`;
    const phase = async () => (await call("GET", run)).json["phase"];
    await expect.poll(phase, { timeout: 40_000 }).toBe(apply ? "applied" : "awaiting_approval");
    return run;
  };
  await start("network", NETWORK, true);
  await start("app", READER, true);
  // A stack of another project follows the one in between.
  const trigger = { producer: { project: "web", stack: "app" }, mode: "apply" };
  const followed = await call("POST", `${at("base", "hidden")}/triggers`, { body: trigger });
  expect([followed.status, followed.text]).toEqual([201, expect.any(String)]);

  const run = await start("network", NETWORK.replace('"one"', '"two"'), false);
  const app = { project: "web", stack: "app", distance: 1, triggered: false, through: [] };
  const hidden = {
    project: "base",
    stack: "hidden",
    distance: 2,
    outputs: [],
    triggered: true,
    through: [{ project: "web", stack: "app" }],
  };
  const dependents = async (token?: string) =>
    (await call("GET", `${run}/plan/dependents`, { token })).json;
  await expect
    .poll(async () => dependents())
    .toEqual({
      outputs: ["vpc"],
      stacks: [{ ...app, outputs: ["vpc"] }, hidden],
      more: false,
    });
  const limited = await dependents(await tokenOf("reader", ["web"]));
  expect(limited["stacks"]).toEqual([{ ...app, outputs: ["vpc"] }]);
  const none = await call("GET", `${at("web", "network")}/runs/none/plan/dependents`);
  expect(none.status).toBe(404);
});
