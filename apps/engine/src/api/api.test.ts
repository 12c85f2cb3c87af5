import { VIEW_SCHEMA } from "@stackwright/plan-view";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { P, S, startApi as start } from "../testing/start-api.ts";

describe("the API of runs", () => {
  it("takes a run from its request to the end of its events", { timeout: 60_000 }, async () => {
    const { call, upload } = await start();
    expect((await call("POST", `${P}/stacks`, { body: { name: "one" } })).status).toBe(201);
    expect((await call("POST", `${P}/stacks`, { body: { name: "one" } })).json).toMatchObject({
      code: "name_taken",
      status: 409,
    });
    const first = await upload();
    const again = await upload();
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.json["digest"]).toBe(first.json["digest"]);
    const body = { configuration: first.json["digest"] };
    const headers = { "idempotency-key": "k" };
    const requests = await Promise.all(
      Array.from({ length: 20 }, async () => call("POST", `${S}/runs`, { body, headers })),
    );
    // One run, however often it was requested, and equal answers.
    expect(new Set(requests.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    const other = { ...body, message: "other" };
    expect((await call("POST", `${S}/runs`, { body: other, headers })).json["code"]).toBe(
      "idempotency_mismatch",
    );
    const run = `${S}/runs/${String(requests[0]?.json["id"])}`;
    await expect
      .poll(async () => (await call("GET", run)).json["phase"], { timeout: 20_000 })
      .toBe("awaiting_approval");
    const wrong = { plan_digest: "0".repeat(64) };
    const refused = await call("POST", `${run}/approvals`, { body: wrong });
    expect([refused.status, refused.json["code"]]).toEqual([409, "plan_changed"]);
    const plan = await call("GET", `${run}/plan`);
    const view = await call("GET", `${run}/plan/view`);
    expect(view.json).toMatchObject({
      format: "stackwright.plan-view/1",
      planDigest: plan.json["digest"],
    });
    expect(new Ajv2020({ strict: false }).validate(VIEW_SCHEMA, view.json)).toBe(true);
    for (const [form, type, start] of [
      ["text", "text/plain", "  # "],
      ["markdown", "text/markdown", "### "],
      ["html", "text/html", '<div class="plan-view">'],
    ] as const) {
      const rendered = await call("GET", `${run}/plan/rendered?form=${form}`);
      expect(rendered.headers.get("content-type")).toContain(type);
      expect(rendered.text.startsWith(start)).toBe(true);
    }
    expect((await call("GET", `${run}/plan/rendered?form=pdf`)).status).toBe(400);
    const approval = { plan_digest: plan.json["digest"] };
    expect((await call("POST", `${run}/approvals`, { body: approval })).status).toBe(201);
    const { text } = await call("GET", `${run}/events`);
    const ids = [...text.matchAll(/^id: .*:([0-9]+)$/gm)].map(([, seq]) => Number(seq));
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    const middle = { "last-event-id": `${run.split("/").at(-1)}:${ids.length - 2}` };
    const rest = await call("GET", `${run}/events`, { headers: middle });
    expect([...rest.text.matchAll(/^id: .*:([0-9]+)$/gm)].map(([, seq]) => Number(seq))).toEqual(
      ids.slice(-2),
    );
    const last = { "last-event-id": `${run.split("/").at(-1)}:${ids.length}` };
    expect((await call("GET", `${run}/events`, { headers: last })).status).toBe(204);
    const shown = await call("GET", run);
    expect(shown.json["phase"]).toBe("applied");
    const etag = shown.headers.get("etag") ?? "";
    expect((await call("GET", run, { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await call("POST", `${run}/cancel`, { body: {} })).json["code"]).toBe("run_ended");
  });

  it("says that a run is stuck, also to who has read it before", { timeout: 60_000 }, async () => {
    const { call, upload } = await start("none", { runLimits: { unclaimedMinutes: 0.01 } });
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const { digest: configuration } = (await upload()).json;
    const requested = await call("POST", `${S}/runs`, { body: { configuration } });
    const run = `${S}/runs/${String(requested.json["id"])}`;
    const first = (await call("GET", run)).headers.get("etag") ?? "";
    const again = async () => call("GET", run, { headers: { "if-none-match": first } });
    expect((await again()).status).toBe(304);
    await expect.poll(async () => (await again()).status, { timeout: 30_000 }).toBe(200);
    const shown = await call("GET", run);
    expect(shown.json).toMatchObject({ phase: "queued", stuck: { why: "unclaimed" } });
    const headers = { "if-none-match": shown.headers.get("etag") ?? "" };
    expect((await call("GET", run, { headers })).status).toBe(304);
    await call("POST", `${run}/cancel`, { body: {} });
    expect((await call("GET", run)).json).not.toHaveProperty("stuck");
  });

  it("recognises the caller before it reads, and shows each what is its own", async () => {
    const { call, tokenOf } = await start("none");
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const [reader, deployer] = [await tokenOf("reader"), await tokenOf("deployer")];
    const elsewhere = await tokenOf("deployer", ["other"]);
    for (const [method, path, token, body, status] of [
      ["GET", S, "", undefined, 401],
      ["GET", S, "wrong", undefined, 401],
      ["POST", `${S}/configurations`, "", new Uint8Array(8), 401],
      ["POST", `${S}/configurations`, reader, new Uint8Array(8), 403],
      ["POST", `${P}/stacks`, deployer, { name: "two" }, 403],
      ["GET", S, reader, undefined, 200],
      ["GET", S, elsewhere, undefined, 404],
      ["GET", `${P}/stacks/none`, reader, undefined, 404],
      ["GET", `${S}/runs/none`, reader, undefined, 404],
      ["GET", "/api/v1/projects/~account/stacks", reader, undefined, 404],
    ] as const) {
      const answer = await call(method, path, { token, body });
      expect([method, path, answer.status]).toEqual([method, path, status]);
      if (status >= 400) expect(answer.headers.get("content-type")).toContain("problem+json");
    }
  });

  it("names every member that is wrong, and refuses archives that are none", async () => {
    const { call, upload } = await start("none");
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const wrong = await call("POST", `${S}/runs`, { body: { configuration: "x", more: 1 } });
    expect(wrong.status).toBe(400);
    const pointers = (wrong.json["errors"] as { pointer: string }[]).map(({ pointer }) => pointer);
    expect(pointers).toContain("/body/configuration");
    const unknown = { configuration: "0".repeat(64) };
    expect((await call("POST", `${S}/runs`, { body: unknown })).status).toBe(422);
    for (const files of [{ "../x": "1" }, { "a/../../x": "1" }, {}]) {
      expect((await upload(files)).json["code"]).toBe("bundle_invalid");
    }
    const plain = Uint8Array.from(Buffer.from("no archive"));
    expect((await call("POST", `${S}/configurations`, { body: plain })).status).toBe(422);
  });

  it("replaces variables only for those who have seen them, and shows no sensitive value", async () => {
    const { call } = await start("none");
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const path = `${S}/variables/terraform/word`;
    const made = await call("PUT", path, { body: { value: "canary", sensitive: true } });
    expect([made.status, made.text.includes("canary")]).toEqual([201, false]);
    expect((await call("PUT", path, { body: { value: "b" } })).status).toBe(428);
    const stale = { "if-match": '"x"' };
    expect((await call("PUT", path, { body: { value: "b" }, headers: stale })).status).toBe(412);
    const fresh = { "if-match": made.headers.get("etag") ?? "" };
    expect((await call("PUT", path, { body: { value: "b" }, headers: fresh })).status).toBe(200);
    expect((await call("GET", `${S}/variables`)).text).not.toContain("canary");
    const any = { "if-match": "*" };
    expect((await call("DELETE", path, { headers: any })).status).toBe(204);
  });

  it("shows no sensitive variable of the environment in a plan", { timeout: 60_000 }, async () => {
    const { call, upload } = await start();
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const canary = "canary-env-0451";
    const body = { value: canary, sensitive: true };
    expect((await call("PUT", `${S}/variables/env/TOKEN`, { body })).status).toBe(201);
    // What a provider may return that reads its environment.
    const text = `resource "terraform_data" "a" {\n  input = ["key=${canary}", "other"]\n}\n`;
    const { digest } = (await upload({ "main.tf": text })).json;
    const made = await call("POST", `${S}/runs`, { body: { configuration: digest } });
    const run = `${S}/runs/${String(made.json["id"])}`;
    await expect
      .poll(async () => (await call("GET", run)).json["phase"], { timeout: 20_000 })
      .toBe("awaiting_approval");
    for (const form of ["", "/view", "/rendered?form=text"]) {
      const { text: shown } = await call("GET", `${run}/plan${form}`);
      expect(shown).toContain("other");
      expect(shown).not.toContain(canary);
    }
  });

  it("bounds the variables of a stack", { timeout: 60_000 }, async () => {
    const { call } = await start("none");
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const body = { value: "x".repeat(65_536) };
    let last: Awaited<ReturnType<typeof call>> | undefined;
    for (let count = 0; count < 40 && (last?.status ?? 201) === 201; count += 1) {
      last = await call("PUT", `${S}/variables/terraform/v${count}`, { body });
    }
    expect([last?.status, last?.json["code"]]).toEqual([422, "unprocessable"]);
    expect((await call("PUT", `${S}/variables/env/SMALL`, { body: { value: "" } })).status).toBe(
      201,
    );
  });

  it("takes no value of the environment that no program can be given", async () => {
    const { call } = await start("none");
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    await call("POST", `${P}/variable-sets`, { body: { name: "shared" } });
    const body = { value: "canary\0of-a-secret", sensitive: true };
    for (const of of [S, `${P}/variable-sets/shared`]) {
      const refused = await call("PUT", `${of}/variables/env/TOKEN`, { body });
      expect([refused.status, refused.json["code"]]).toEqual([422, "unprocessable"]);
      expect(refused.text).not.toContain("canary");
      expect((await call("PUT", `${of}/variables/terraform/token`, { body })).status).toBe(201);
    }
  });

  it("pages through stacks by name", async () => {
    const { call } = await start("none");
    for (const name of ["c", "a", "b"]) await call("POST", `${P}/stacks`, { body: { name } });
    const first = await call("GET", `${P}/stacks?limit=2`);
    expect(first.json["stacks"]).toMatchObject([{ name: "a" }, { name: "b" }]);
    const next = /<(.*)>; rel="next"/.exec(first.headers.get("link") ?? "")?.[1] ?? "";
    const second = await call("GET", next);
    expect(second.json["stacks"]).toMatchObject([{ name: "c" }]);
    expect(second.json).not.toHaveProperty("next");
    expect(second.headers.get("link")).toBeNull();
  });

  it("pages through runs, whose order is that of their requests", async () => {
    const { call, upload } = await start("none");
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const { digest } = (await upload()).json;
    for (let index = 0; index < 5; index += 1) {
      await call("POST", `${S}/runs`, { body: { configuration: digest } });
    }
    const numbers: number[] = [];
    for (let next: string | undefined = `${S}/runs?limit=2`; next !== undefined; ) {
      const page: Awaited<ReturnType<typeof call>> = await call("GET", next);
      numbers.push(...(page.json["runs"] as { number: number }[]).map(({ number }) => number));
      next = /<(.*)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1];
    }
    expect(numbers).toEqual([1, 2, 3, 4, 5]);
    const forged = await call("GET", `${S}/runs?after=${Buffer.from("a/b").toString("base64url")}`);
    expect(forged).toMatchObject({ status: 400, json: { code: "invalid_request" } });
    const document = (await call("GET", "/openapi.json")).json as { paths: object };
    expect(Object.keys(document.paths)).toContain(
      "/api/v1/projects/{project}/stacks/{stack}/runs/{run}/approvals",
    );
  });
});
