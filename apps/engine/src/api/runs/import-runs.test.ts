import { expect, it } from "vitest";
import { S, startApi } from "../../testing/start-api.ts";

const MAIN = `
resource "terraform_data" "a" {}
resource "terraform_data" "b" { for_each = toset(["x=y"]) }
resource "terraform_data" "other" { input = "not planned" }
`;

it("a run imports the objects that it names, and does nothing else", {
  timeout: 120_000,
}, async () => {
  const { call, upload } = await startApi();
  await call("POST", "/api/v1/projects/web/stacks", { body: { name: "one" } });
  const { digest } = (await upload({ "main.tf": MAIN })).json;
  const request = async (body: object) =>
    call("POST", `${S}/runs`, { body: { configuration: digest, mode: "import", ...body } });
  const reached = async (id: unknown, phase: string) => {
    const show = async () => (await call("GET", `${S}/runs/${String(id)}`)).json;
    await expect
      .poll(async () => (await show())["phase"], { timeout: 60_000, interval: 50 })
      .toBe(phase);
    return show();
  };
  const one = { address: "terraform_data.a", id: "id-1" };
  const two = { address: 'terraform_data.b["x=y"]', id: 'odd "id" ${1}' };
  const made = await request({ imports: [one, two] });
  expect([made.status, made.json["imports"]]).toEqual([201, [one, two]]);
  const { plan_digest: planDigest } = await reached(made.json["id"], "awaiting_approval");
  const run = `${S}/runs/${String(made.json["id"])}`;
  await call("POST", `${run}/approvals`, { body: { plan_digest: planDigest } });
  await reached(made.json["id"], "applied");
  const recorded = (await call("GET", `${S}/state`)).text;
  expect(recorded).toContain("terraform_data.a");
  expect(recorded).not.toContain("terraform_data.other");
  const shown = await call("GET", `${S}/state/resource?address=${encodeURIComponent(two.address)}`);
  expect(shown.text).toContain("odd");
  const again = await reached((await request({ imports: [one] })).json["id"], "failed");
  expect(again).toMatchObject({ reason_code: "not_imported" });
  const refused = [
    {},
    { imports: [one, one] },
    { imports: [one], targets: ["terraform_data.a"] },
    { imports: [one], mode: "apply" },
  ];
  for (const body of refused) expect((await request(body)).json["code"]).toBe("unprocessable");
  for (const address of ["data.x.y", "module.a", "terraform_data.a }"]) {
    const { status } = await request({ imports: [{ address, id: "1" }] });
    expect(status).toBe(400);
  }
});
