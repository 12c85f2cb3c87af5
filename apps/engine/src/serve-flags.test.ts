import { expect, it } from "vitest";
import { parseServeArguments } from "./serve-arguments.ts";
import { SERVE_OPTIONS } from "./serve-flags.ts";
import { ServerOptionsSchema } from "./server-options.ts";

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
