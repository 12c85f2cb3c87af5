import { createHmac } from "node:crypto";
import { createVerifier, signRequest } from "@stackwright/request-signing";
import { printTable } from "./table.ts";

const BODY = Buffer.from(
  JSON.stringify({ provider_name: "hello", provider_description: "x".repeat(200) }),
);

/** What verifying a signature costs, beside the two digests that it cannot do without. */
export async function benchSigning(rounds: number, count: number): Promise<void> {
  const key = { accessKey: "AK1", secretKey: "top-secret-top-secret" };
  const request = {
    method: "GET",
    target: "/v1/private-providers?limit=10&sort_key=create_time&sort_dir=asc",
    headers: [
      ["Host", "localhost:7400"],
      ["Content-Type", "application/json"],
      ["Client-Request-Id", "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1"],
    ] as const,
    body: BODY,
  };
  const signed = { ...request, headers: signRequest(request, key) };
  const verifier = createVerifier({ secretFor: () => key.secretKey });
  const measured: Record<string, () => unknown> = {
    "two digests": () => {
      const first = createHmac("sha256", key.secretKey).update(BODY).digest();
      return createHmac("sha256", key.secretKey).update(first).digest("hex");
    },
    sign: () => signRequest(request, key),
    verify: () => verifier.verify(signed),
  };
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(measured)) {
      const started = performance.now();
      for (let n = 0; n < count; n += 1) await run();
      const each = ((performance.now() - started) / count) * 1000;
      times.set(name, [...(times.get(name) ?? []), each]);
    }
  }
  const mid = (name: string): number =>
    (times.get(name) ?? []).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
  printTable(
    `signatures, a body of ${BODY.length} bytes, ${rounds} rounds of ${count}`,
    ["", "µs each", "lowest", "highest", "of two digests"],
    [...times].map(([name, all]) => [
      name,
      mid(name).toFixed(1),
      Math.min(...all).toFixed(1),
      Math.max(...all).toFixed(1),
      `${(mid(name) / mid("two digests")).toFixed(1)} x`,
    ]),
  );
}
