import { expect, it } from "vitest";
import { S, startApi } from "../../testing/start-api.ts";

it("a run that destroys or only refreshes is not given objects to replace", {
  timeout: 60_000,
}, async () => {
  const { call, upload } = await startApi();
  await call("POST", "/api/v1/projects/web/stacks", { body: { name: "one" } });
  const { digest } = (await upload({ "main.tf": 'resource "terraform_data" "a" {}\n' })).json;
  const request = async (mode: string, replace: readonly string[]) =>
    call("POST", `${S}/runs`, { body: { configuration: digest, mode, replace } });
  for (const mode of ["destroy", "refresh_only"]) {
    const { status, json, text } = await request(mode, ["terraform_data.a"]);
    expect([status, json["code"]]).toEqual([422, "unprocessable"]);
    expect(text).toContain(`replace does not go with the mode ${mode}`);
    expect((await request(mode, [])).status).toBe(201);
  }
  for (const mode of ["apply", "plan_only"]) {
    const { status, json } = await request(mode, ["terraform_data.a"]);
    expect([status, json["replace"]]).toEqual([201, ["terraform_data.a"]]);
  }
});
