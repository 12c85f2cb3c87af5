import { expect, it } from "vitest";
import { parseServeArguments } from "./serve-arguments.ts";
import { SERVE_OPTIONS } from "./serve-flags.ts";
import { resolveServerOptions, ServerOptionsSchema } from "./server-options.ts";

/** Paths of all options that are no groups of others. */
function optionPaths(schema: object, above: readonly string[] = []): readonly string[] {
  const { properties } = schema as { readonly properties?: Readonly<Record<string, object>> };
  return properties === undefined
    ? [above.join(".")]
    : Object.entries(properties).flatMap(([name, inner]) => optionPaths(inner, [...above, name]));
}

it("has an option of the command for every option of the file but one that is on without it", () => {
  const flags = Object.values(SERVE_OPTIONS).map(({ path }) => path.join("."));
  expect([...flags, "openMetrics"].toSorted()).toEqual(optionPaths(ServerOptionsSchema).toSorted());
});

it("reads options that are given several times as lists", async () => {
  const options = await parseServeArguments(
    [
      "--reserved-namespace",
      "a",
      "--reserved-namespace",
      "b",
      "--provisioner-project",
      "acme/shop",
    ],
    {},
    ".",
  );
  expect(options).toMatchObject({
    reservedNamespaces: ["a", "b"],
    provisionerProjects: ["acme/shop"],
  });
});

it("takes a rate without a number of requests at once, and names the option that is missing", async () => {
  const limits = async (...args: readonly string[]) => {
    const given = await parseServeArguments(["--store", "memory:", ...args], {}, ".");
    const { rateLimit, apiRateLimit } = resolveServerOptions(given);
    return { rateLimit, apiRateLimit };
  };
  expect(await limits()).toEqual({});
  expect(await limits("--api-rate-per-second", "50", "--rate-per-second", "0.01")).toEqual({
    apiRateLimit: { perSecond: 50, burst: 500 },
    rateLimit: { perSecond: 0.01, burst: 1 },
  });
  expect(await limits("--api-rate-per-second", "50", "--api-rate-burst", "60")).toEqual({
    apiRateLimit: { perSecond: 50, burst: 60 },
  });
  expect(await limits("--api-rate-burst", "3000")).toEqual({
    apiRateLimit: { perSecond: 200, burst: 3_000 },
  });
  await expect(limits("--rate-burst", "5")).rejects.toThrow(/\(--rate-per-second\)$/);
  await expect(limits("--tls-key", "key.pem")).rejects.toThrow(/\(--tls-certificate\)$/);
});
