import { expect, it } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";

it("limits the requests of a credential, and says when to come back", async () => {
  const { call, tokenOf } = await startApi("none", {
    apiRateLimit: { perSecond: 0.25, burst: 3 },
  });
  const [one, two] = [await tokenOf("reader"), await tokenOf("reader")];
  const statuses: number[] = [];
  for (let count = 0; count < 4; count += 1) {
    statuses.push((await call("GET", `${P}/stacks`, { token: one })).status);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
  const refused = await call("GET", `${P}/stacks`, { token: one });
  expect(refused.json).toMatchObject({ code: "rate_limited", status: 429 });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(3);
  expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(4);
  // Others are not concerned.
  expect((await call("GET", `${P}/stacks`, { token: two })).status).toBe(200);
});

it("takes a bounded number of uploads at the same time", { timeout: 30_000 }, async () => {
  const { server, call, upload, first } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const open: { readonly end: () => void; readonly answer: Promise<number> }[] = [];
  for (let count = 0; count < 4; count += 1) {
    const ended = Promise.withResolvers<void>();
    const body = new ReadableStream({
      pull: async (controller) => {
        if (controller.desiredSize !== null && count >= 0) controller.enqueue(new Uint8Array([1]));
        await ended.promise;
        controller.close();
      },
    });
    const answer = fetch(server.url + `${S}/configurations`, {
      method: "POST",
      headers: { authorization: `Bearer ${first.token}`, "content-type": "application/gzip" },
      body,
      duplex: "half",
    }).then(({ status }) => status);
    open.push({ end: ended.resolve, answer });
  }
  await expect.poll(async () => (await upload()).status, { timeout: 10_000 }).toBe(429);
  const refused = await upload();
  expect(refused.json["code"]).toBe("rate_limited");
  expect(refused.headers.get("retry-after")).toBe("5");
  for (const { end } of open) end();
  // They were no archives; their places are free again.
  expect(await Promise.all(open.map(async ({ answer }) => answer))).toEqual([422, 422, 422, 422]);
  expect((await upload()).status).toBe(201);
});

it("the entity tag of a variable is of the write that answers with it", async () => {
  const { call } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const path = `${S}/variables/terraform/word`;
  const made = await call("PUT", path, { body: { value: "0" } });
  let tag = made.headers.get("etag") ?? "";
  // Of several who know one version, one replaces it; the tag that it gets is of what it wrote.
  for (let round = 0; round < 10; round += 1) {
    const answers = await Promise.all(
      ["a", "b", "c", "d"].map(async (name) => {
        const value = `${round}${name}`;
        const answer = await call("PUT", path, { body: { value }, headers: { "if-match": tag } });
        return { value, status: answer.status, tag: answer.headers.get("etag") ?? "" };
      }),
    );
    const done = answers.filter(({ status }) => status === 200);
    expect([done.length, answers.filter(({ status }) => status === 412).length]).toEqual([1, 3]);
    const shown = await call("GET", path);
    expect([shown.json["value"], shown.headers.get("etag")]).toEqual([
      done[0]?.value,
      done[0]?.tag,
    ]);
    tag = done[0]?.tag ?? "";
  }
  await call("DELETE", path, { headers: { "if-match": tag } });
  const gone = await call("PUT", path, { body: { value: "x" }, headers: { "if-match": tag } });
  expect(gone.status).toBe(412);
});

it("a request that is repeated fifty times at once with one key makes one run", async () => {
  const { call, upload } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const body = { configuration: (await upload()).json["digest"] };
  const headers = { "idempotency-key": "k" };
  const post = async () => call("POST", `${S}/runs`, { body, headers });
  // One of two that come at the same moment may be asked to come again.
  const ask = async (): Promise<unknown> => {
    for (;;) {
      const { status, json } = await post();
      if (status === 201) return json["id"];
      expect(json["code"]).toBe("in_progress");
    }
  };
  const ids = await Promise.all(Array.from({ length: 50 }, ask));
  expect(new Set(ids).size).toBe(1);
  const { json } = await call("GET", `${S}/runs`);
  expect(json["runs"]).toHaveLength(1);
});
