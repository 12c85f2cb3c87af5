import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseSignatureHeader } from "./authorization-header.ts";
import { canonicalRequest } from "./canonical-request.ts";
import type { SignableRequest } from "./request.ts";
import { parseSdkDate } from "./sdk-date.ts";
import { computeSignature, stringToSign } from "./signature.ts";
import { createVerifier } from "./verify.ts";

/** Signatures recorded from official clients; `SIGN_VECTORS` names another file of this form. */
const FILE = process.env.SIGN_VECTORS ?? join(import.meta.dirname, "../fixtures/sign-vectors.json");

interface RecordedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly [string, string][];
  readonly body: string;
}

interface Vector {
  readonly id: string;
  readonly access_key: string;
  readonly secret_key: string;
  readonly canonical_request: string;
  readonly string_to_sign: string;
  readonly signed_headers: readonly string[];
  readonly request: RecordedRequest;
  readonly expected_authorization: string;
  readonly verify_at: string;
  readonly expect?: { readonly status: number };
}

interface VerificationCase {
  readonly id: string;
  readonly access_key: string;
  readonly secret_key: string;
  readonly request: RecordedRequest;
  readonly authorization?: string;
  readonly verify_at: string;
  readonly expect: { readonly status: number };
}

interface VectorFile {
  readonly vectors: readonly Vector[];
  readonly interop_quirks: readonly Vector[];
  readonly verification_cases: readonly VerificationCase[];
}

const file = JSON.parse(readFileSync(FILE, "utf8")) as VectorFile;

function signable(request: RecordedRequest, authorization?: string): SignableRequest {
  const extra = authorization === undefined ? [] : [["Authorization", authorization] as const];
  return { ...request, headers: [...request.headers, ...extra], body: Buffer.from(request.body) };
}

/** Recomputes a vector; returns what differs from what was recorded. */
function recompute(vector: Vector): string[] {
  const header = parseSignatureHeader(vector.expected_authorization);
  const input = {
    accessKey: vector.access_key,
    date: vector.request.headers.find(([name]) => name.toLowerCase() === "x-sdk-date")?.[1] ?? "",
    canonicalRequest: canonicalRequest(signable(vector.request), vector.signed_headers),
    ...(header.derived && { scope: header.derived }),
  };
  const differs: string[] = [];
  if (input.canonicalRequest !== vector.canonical_request) differs.push("canonical request");
  if (stringToSign(input) !== vector.string_to_sign) differs.push("string to sign");
  if (computeSignature(vector.secret_key, input) !== header.signature) differs.push("signature");
  return differs;
}

async function statusOf(request: SignableRequest, vector: Vector | VerificationCase) {
  const verifier = createVerifier({
    secretFor: (key) => (key === vector.access_key ? vector.secret_key : undefined),
    now: () => parseSdkDate(vector.verify_at) ?? Number.NaN,
    derivedScopes: [
      { region: "cn-north-7", service: "rfs" },
      { region: "test-region-1", service: "demo" },
    ],
  });
  return verifier.verify(request).then(
    () => "accepted",
    () => "rejected",
  );
}

describe("recorded signatures", () => {
  it.each(file.vectors.map((vector) => [vector.id, vector] as const))("%s", async (_id, vector) => {
    expect(recompute(vector)).toEqual([]);
    const request = signable(vector.request, vector.expected_authorization);
    expect(await statusOf(request, vector)).toBe("accepted");
  });

  it("are at least as many as were recorded", () => {
    expect(file.vectors.length).toBeGreaterThan(0);
    expect(file.verification_cases.length).toBeGreaterThan(0);
  });
});

describe("client quirks that are not accepted", () => {
  it.each(file.interop_quirks.map((vector) => [vector.id, vector] as const))(
    "%s",
    async (_id, vector) => {
      const request = signable(vector.request, vector.expected_authorization);
      expect(await statusOf(request, vector)).toBe("rejected");
    },
  );
});

describe("requests to accept and to reject", () => {
  it.each(file.verification_cases.map((entry) => [entry.id, entry] as const))(
    "%s",
    async (_id, entry) => {
      const expected = entry.expect.status < 400 ? "accepted" : "rejected";
      expect(await statusOf(signable(entry.request, entry.authorization), entry)).toBe(expected);
    },
  );
});

describe("a recording with one thing changed", () => {
  const flipLast = (text: string) => text.slice(0, -1) + (text.endsWith("0") ? "1" : "0");
  it.each<[string, (vector: Vector) => Vector]>([
    ["the secret", (v) => ({ ...v, secret_key: `${v.secret_key}x` })],
    [
      "the signature",
      (v) => ({ ...v, expected_authorization: flipLast(v.expected_authorization) }),
    ],
    ["the method", (v) => ({ ...v, request: { ...v.request, method: "OPTIONS" } })],
    ["the path", (v) => ({ ...v, request: { ...v.request, target: `/x${v.request.target}` } })],
    [
      "the query",
      (v) => ({ ...v, request: { ...v.request, target: `${v.request.target}&a=b?a=b` } }),
    ],
    ["the body", (v) => ({ ...v, request: { ...v.request, body: `${v.request.body} ` } })],
  ])("fails for %s", (_what, mutate) => {
    for (const vector of file.vectors) expect(recompute(mutate(vector))).not.toEqual([]);
  });
});
