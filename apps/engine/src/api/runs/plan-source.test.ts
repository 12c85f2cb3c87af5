import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";

it("a plan that is requested with a source ends the one of before, also in a repeated request", async () => {
  const { call, upload } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload()).json;
  const request = async (key: string, body: object = {}) =>
    call("POST", `${S}/runs`, {
      body: { configuration: digest, mode: "plan_only", source: "refs/heads/a", ...body },
      headers: { "idempotency-key": key },
    });
  const made = [];
  for (const key of ["a", "b", "c", "c"]) made.push(await request(key));
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  const [first, second, third, repeated] = made.map(({ json }) => json["id"]);
  expect(repeated).toBe(third);
  const shown = async (id: unknown) => (await call("GET", `${S}/runs/${String(id)}`)).json;
  expect(await shown(first)).toMatchObject({ phase: "superseded", superseded_by: second });
  expect(await shown(second)).toMatchObject({ phase: "superseded", superseded_by: third });
  expect(await shown(third)).toMatchObject({ phase: "queued", source: "refs/heads/a" });
  const again = await call("POST", `${S}/runs/${String(second)}/retry`, { body: {} });
  expect(again.json).toMatchObject({ source: "refs/heads/a", retry_of: second });
  expect(await shown(third)).toMatchObject({
    phase: "superseded",
    superseded_by: again.json["id"],
  });
  expect((await request("d", { mode: "apply" })).json["code"]).toBe("unprocessable");
});
