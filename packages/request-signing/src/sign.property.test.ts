import fc from "fast-check";
import { expect, it } from "vitest";
import { signRequest } from "./sign.ts";
import { createVerifier } from "./verify.ts";

const segment = fc
  .string({ unit: "binary" })
  .map((text) => encodeURIComponent(text.toWellFormed()));

const target = fc
  .tuple(
    fc.array(segment, { maxLength: 5 }),
    fc.array(fc.tuple(segment, segment), { maxLength: 4 }),
  )
  .map(([path, query]) => {
    const pairs = query.map(([name, value]) => `${name}=${value}`).join("&");
    return `/${path.join("/")}${pairs === "" ? "" : `?${pairs}`}`;
  });

it("any request verifies as signed, and not with another body or target", async () => {
  await fc.assert(
    fc.asyncProperty(target, fc.uint8Array(), async (path, body) => {
      const plain = { method: "PUT", target: path, headers: [["Host", "h"]] as const, body };
      const headers = signRequest(plain, { accessKey: "a", secretKey: "s" }, { timeMs: 0 });
      const verify = (change: object) =>
        createVerifier({ secretFor: () => "s", now: () => 0 })
          .verify({ ...plain, headers, ...change })
          .then(
            () => true,
            () => false,
          );
      expect(await verify({})).toBe(true);
      expect(await verify({ body: Buffer.concat([body, Buffer.of(0)]) })).toBe(false);
      expect(await verify({ target: `/x${path}` })).toBe(false);
    }),
  );
});
