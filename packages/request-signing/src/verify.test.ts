import { describe, expect, it } from "vitest";
import { parseSignatureHeader } from "./authorization-header.ts";
import { canonicalRequest } from "./canonical-request.ts";
import { SigningError } from "./errors.ts";
import { createMemoryReplayGuard } from "./replay-guard.ts";
import type { SignableRequest } from "./request.ts";
import { formatSdkDate } from "./sdk-date.ts";
import { signRequest } from "./sign.ts";
import { computeSignature, type DerivedScope } from "./signature.ts";
import { createVerifier, type VerifierOptions } from "./verify.ts";

const TIME = Date.UTC(2026, 0, 2, 3, 4, 5);
const KEY = { accessKey: "AK1", secretKey: "secret" };

function request(change: Partial<SignableRequest> = {}): SignableRequest {
  return {
    method: "POST",
    target: "/v1/things?b=2&a=1",
    headers: [
      ["Host", "localhost:1"],
      ["Content-Type", "application/json"],
    ],
    body: Buffer.from("{}"),
    ...change,
  };
}

function signed(change: Partial<SignableRequest> = {}, options = {}): SignableRequest {
  const plain = request(change);
  return { ...plain, headers: signRequest(plain, KEY, { timeMs: TIME, ...options }) };
}

/** Signed for a key that does not exist, with a secret that `signRequest` may not even take. */
function forged(secret: string, scope?: DerivedScope): SignableRequest {
  const accessKey = "AK2";
  const plain = request();
  const options = { timeMs: TIME, ...(scope && { scope }) };
  const headers = signRequest(plain, { accessKey, secretKey: "any" }, options);
  const authorization = headers.find(([name]) => name === "Authorization")?.[1] ?? "";
  const { signedHeaders } = parseSignatureHeader(authorization);
  const signature = computeSignature(secret, {
    accessKey,
    date: formatSdkDate(TIME),
    canonicalRequest: canonicalRequest({ ...plain, headers }, signedHeaders),
    ...(scope && { scope }),
  });
  const value = authorization.replace(/[0-9a-f]{64}$/, signature);
  return {
    ...plain,
    headers: headers.map(([name, old]) => [name, name === "Authorization" ? value : old]),
  };
}

function verifier(options: Partial<VerifierOptions> = {}) {
  return createVerifier({
    secretFor: (key) => (key === KEY.accessKey ? KEY.secretKey : undefined),
    now: () => TIME,
    ...options,
  });
}

const notRefused = "no SigningError but undefined";

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return error instanceof SigningError ? error.code : `no SigningError but ${String(error)}`;
}

describe("createVerifier", () => {
  it("accepts what signRequest signed and says what the signature covers", async () => {
    const result = await verifier().verify(signed());
    expect(result).toEqual({
      accessKey: "AK1",
      signedAtMs: TIME,
      signedHeaders: new Set(["content-type", "host", "x-sdk-date"]),
    });
  });

  it("accepts a derived key for a configured region and service only", async () => {
    const scope = { region: "r", service: "s" };
    const accepting = verifier({ derivedScopes: [scope] });
    await expect(accepting.verify(signed({}, { scope }))).resolves.toBeDefined();
    const refusing = verifier({ derivedScopes: [{ region: "r", service: "other" }] });
    expect(await codeOf(refusing.verify(signed({}, { scope })))).toBe("SIGNING_SCOPE_REFUSED");
  });

  it("refuses a derived key of another day", async () => {
    const scope = { region: "r", service: "s" };
    const good = signed({}, { scope });
    const headers = good.headers.map(
      ([name, value]) => [name, value.replace("AK1/20260102/", "AK1/20260101/")] as const,
    );
    const result = verifier({ derivedScopes: [scope] }).verify({ ...good, headers });
    expect(await codeOf(result)).toBe("SIGNING_SCOPE_REFUSED");
  });

  it("accepts a changing request once", async () => {
    const shared = verifier();
    await shared.verify(signed());
    expect(await codeOf(shared.verify(signed()))).toBe("SIGNING_REPLAYED");
  });

  it("accepts one of two equal requests that arrive at once", async () => {
    const shared = verifier();
    const results = await Promise.allSettled([shared.verify(signed()), shared.verify(signed())]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  });

  it("accepts a signature of another spelling of the target, for methods that change nothing", async () => {
    const target = "/v1/things/a%2Fb";
    const aliases = ["/v1/things/a/b", "/v1/things/a%252Fb"];
    const get = { method: "GET", body: new Uint8Array() };
    for (const spelling of [target, ...aliases]) {
      const sent = { ...signed({ ...get, target: spelling }), target };
      await expect(verifier().verify({ ...sent, aliases }), spelling).resolves.toBeDefined();
      const isOwn = spelling === target;
      expect(await codeOf(verifier().verify(sent))).toBe(isOwn ? notRefused : "SIGNING_MISMATCH");
      const post = { ...signed({ target: spelling }), target };
      const changing = verifier().verify({ ...post, aliases });
      expect(await codeOf(changing)).toBe(isOwn ? notRefused : "SIGNING_MISMATCH");
    }
    const other = { ...signed({ ...get, target: "/v1/things/c" }), target, aliases };
    expect(await codeOf(verifier().verify(other))).toBe("SIGNING_MISMATCH");
    const unknown = { ...signed({ ...get, target }), target, aliases };
    const secretFor = () => undefined;
    expect(await codeOf(verifier({ secretFor }).verify(unknown))).toBe("SIGNING_MISMATCH");
  });

  it("accepts a reading request again and again", async () => {
    const shared = verifier();
    const get = { method: "GET", body: new Uint8Array() };
    await shared.verify(signed(get));
    await expect(shared.verify(signed(get))).resolves.toBeDefined();
  });

  it("includes the bound of the skew, on both sides, and nothing beyond", async () => {
    for (const offset of [-900_000, 900_000]) {
      await expect(verifier({ now: () => TIME + offset }).verify(signed())).resolves.toBeDefined();
      const beyond = verifier({ now: () => TIME + offset + Math.sign(offset) });
      expect(await codeOf(beyond.verify(signed()))).toBe("SIGNING_DATE_SKEWED");
    }
  });

  it("refuses a signed header that occurs twice", async () => {
    const good = signed();
    const headers = [...good.headers, ["Host", "localhost:2"] as const];
    expect(await codeOf(verifier().verify({ ...good, headers }))).toBe("SIGNING_HEADER_REPEATED");
  });

  it("refuses an access key that does not exist as it refuses a wrong secret", async () => {
    const unknown = verifier({ secretFor: () => undefined });
    const wrong = verifier({ secretFor: () => "another" });
    expect(await codeOf(unknown.verify(signed()))).toBe("SIGNING_MISMATCH");
    expect(await codeOf(wrong.verify(signed()))).toBe("SIGNING_MISMATCH");
  });

  it.each([undefined, ""])("refuses every signature where the secret is %j", async (secret) => {
    const refusing = verifier({ secretFor: () => secret });
    const scope = { region: "r", service: "s" };
    const derived = verifier({ secretFor: () => secret, derivedScopes: [scope] });
    // What a verifier might put in the place of a secret that is missing.
    for (const guess of ["-", "undefined", "null", "", "\0"]) {
      const simple = forged(guess);
      expect(await codeOf(refusing.verify(simple))).toBe("SIGNING_MISMATCH");
      expect(await codeOf(derived.verify(forged(guess, scope)))).toBe("SIGNING_MISMATCH");
    }
  });

  it("demands the configured headers", async () => {
    const strict = verifier({ requireSigned: ["host"] });
    const withoutHost = signed({ headers: [] });
    expect(await codeOf(strict.verify(withoutHost))).toBe("SIGNING_HEADER_NOT_SIGNED");
  });

  describe("with a body that is left out of the signature", () => {
    const upload = (type: string): Partial<SignableRequest> => ({
      headers: [
        ["Host", "localhost:1"],
        ["Content-Type", type],
        ["X-Sdk-Content-Sha256", "UNSIGNED-PAYLOAD"],
      ],
    });

    it("refuses it by default", async () => {
      const result = verifier().verify(signed(upload("application/zip")));
      expect(await codeOf(result)).toBe("SIGNING_PAYLOAD_UNSIGNED");
    });

    it("accepts it where allowed, and JSON not even there", async () => {
      const lax = verifier({ allowUnsignedPayload: true });
      await expect(lax.verify(signed(upload("application/zip")))).resolves.toBeDefined();
      const json = lax.verify(signed(upload("application/json; charset=utf-8")));
      expect(await codeOf(json)).toBe("SIGNING_PAYLOAD_UNSIGNED");
    });

    it("refuses it when the header itself is not signed", async () => {
      const lax = verifier({ allowUnsignedPayload: true });
      const unsignedHeaders = ["x-sdk-content-sha256"];
      const result = lax.verify(signed(upload("application/zip"), { unsignedHeaders }));
      expect(await codeOf(result)).toBe("SIGNING_PAYLOAD_UNSIGNED");
    });
  });

  it.each([
    ["no header at all", undefined, "SIGNING_AUTHORIZATION_MISSING"],
    ["a bearer token", "Bearer x", "SIGNING_ALGORITHM_UNKNOWN"],
    ["another algorithm of the family", "SDK-HMAC-SM3 Access=a", "SIGNING_ALGORITHM_UNKNOWN"],
    ["nothing behind the algorithm", "SDK-HMAC-SHA256", "SIGNING_AUTHORIZATION_MALFORMED"],
    [
      "names out of order",
      `SDK-HMAC-SHA256 Access=AK1, SignedHeaders=x-sdk-date;host, Signature=${"0".repeat(64)}`,
      "SIGNING_AUTHORIZATION_MALFORMED",
    ],
    [
      "a name twice",
      `SDK-HMAC-SHA256 Access=AK1, SignedHeaders=host;host, Signature=${"0".repeat(64)}`,
      "SIGNING_AUTHORIZATION_MALFORMED",
    ],
    [
      "a credential with too few parts",
      `V11-HMAC-SHA256 Credential=AK1/20260102/r, SignedHeaders=x-sdk-date, Signature=${"0".repeat(64)}`,
      "SIGNING_AUTHORIZATION_MALFORMED",
    ],
  ])("refuses %s", async (_what, authorization, code) => {
    const headers = signed().headers.filter(([name]) => name !== "Authorization");
    const extra = authorization === undefined ? [] : [["authorization", authorization] as const];
    const result = verifier().verify({ ...request(), headers: [...headers, ...extra] });
    expect(await codeOf(result)).toBe(code);
  });

  it("refuses a target with a broken percent sign", async () => {
    const good = signed();
    const result = verifier().verify({ ...good, target: "/v1/%zz" });
    expect(await codeOf(result)).toBe("SIGNING_TARGET_MALFORMED");
  });

  it("takes linear time on a long header", async () => {
    const evil = `SDK-HMAC-SHA256 Access=${"a".repeat(100_000)}, SignedHeaders=${"a;".repeat(50_000)}`;
    const headers = [["Authorization", evil] as const];
    const result = verifier().verify({ ...request(), headers });
    expect(await codeOf(result)).toBe("SIGNING_AUTHORIZATION_MALFORMED");
  });
});

describe("createMemoryReplayGuard", () => {
  it("refuses to forget what is still valid, and forgets what is not", async () => {
    let time = 0;
    const guard = createMemoryReplayGuard({ now: () => time, maxPerKey: 2 });
    const use = (signature: string) =>
      guard.firstUse({ accessKey: "a", signature, expiresAtMs: 10 });
    expect([await use("1"), await use("2")]).toEqual([true, true]);
    expect(() => use("3")).toThrow(SigningError);
    time = 11;
    expect(await use("3")).toBe(true);
  });
});
