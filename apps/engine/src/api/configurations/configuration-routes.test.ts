import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { P, S, startApi } from "../../testing/start-api.ts";
import { tarOf } from "../../testing/tar-of.ts";

const ARCHIVE = Uint8Array.from(gzipSync(tarOf({ "a/main.tf": "", "b/main.tf": "" })));

it("takes the folder of the root module in the archive, as a part of what the digest says", async () => {
  const { call } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const upload = async (root: string) =>
    call("POST", `${S}/configurations?root=${encodeURIComponent(root)}`, { body: ARCHIVE });
  const a = await upload("a");
  expect(a.status).toBe(201);
  expect((await upload("./a/")).json["digest"]).toBe(a.json["digest"]);
  expect((await upload("b")).json["digest"]).not.toBe(a.json["digest"]);
});

it.each(["..", "../a", "a/../../b", "/a", "a\\b", "a\n"])(
  "refuses a root that is no folder of the archive: %j",
  async (root) => {
    const { call } = await startApi("none");
    await call("POST", `${P}/stacks`, { body: { name: "one" } });
    const path = `${S}/configurations?root=${encodeURIComponent(root)}`;
    expect((await call("POST", path, { body: ARCHIVE })).status).toBeGreaterThanOrEqual(400);
    expect((await call("POST", path, { body: ARCHIVE })).status).toBeLessThan(500);
  },
);
