import { describe, expect, it } from "vitest";
import { parseJoinedProviders } from "./joined-file.ts";

const parse = (text: string) => parseJoinedProviders(Buffer.from(text));
const entry = (value: unknown, source = "example.com/acme/all") =>
  JSON.stringify({ providers: { [source]: value } });
const programs = [{ source: "hashicorp/random", version: "~> 3.6" }, { source: "hashicorp/local" }];

describe("the file of providers that are made of several programs", () => {
  it("has full sources, programs in order, and names from the sources", async () => {
    const found = await parse(entry({ programs, owners: { random_id: "random" } }, "acme/all"));
    const [[source, provider] = []] = found;
    expect(source).toBe("registry.terraform.io/acme/all");
    expect(
      provider?.programs.map(({ name, address, constraints }) => [
        name,
        address.toString(),
        constraints.toString(),
      ]),
    ).toEqual([
      ["random", "registry.terraform.io/hashicorp/random", "~> 3.6"],
      ["local", "registry.terraform.io/hashicorp/local", ""],
    ]);
    expect(provider?.conflicts).toBe("error");
    expect(provider?.owners).toEqual(new Map([["random_id", "random"]]));
  });

  it.each([
    ["{", "it is not a JSON object"],
    ["[]", "it is not a JSON object"],
    ['{"providers": {}, "providers": {}}', 'the name "providers" occurs twice'],
    ['{"provider": {}}', "provider"],
    [entry({}), "providers/example.com/acme/all"],
    [entry({ programs: [] }), "programs"],
    [
      entry({ programs: Array.from({ length: 33 }, (_, i) => ({ source: `a/p${i}` })) }),
      "programs",
    ],
    [entry({ programs: [{ source: "a b" }] }), "a b"],
    [entry({ programs: [{ source: "a/b", version: "x y" }] }), "x y"],
    [entry({ programs: [{ source: "a/b", program: "x" }] }), "program"],
    [entry({ programs, conflicts: "newest" }), "conflicts"],
    [
      entry({ programs: [{ source: "a/x" }, { source: "b/x" }] }),
      'have the name "x"; give one another "name"',
    ],
    [
      entry({ programs, owners: { random_id: "rand" } }),
      'gives random_id to "rand", and the programs are "random", "local"',
    ],
    [
      entry({ programs: [{ source: "example.com/acme/all" }] }),
      "is itself made of several programs",
    ],
    [
      JSON.stringify({
        providers: { "a/b": { programs }, "registry.terraform.io/a/b": { programs } },
      }),
      "registry.terraform.io/a/b occurs twice",
    ],
  ])("%s is refused", async (text, what) => {
    await expect(parse(text)).rejects.toThrow(what);
    await expect(parse(text)).rejects.toThrow(/^stackwright\.providers\.json: /);
  });

  it("takes as many programs as are allowed", async () => {
    const most = Array.from({ length: 32 }, (_, i) => ({ source: `a/p${i}` }));
    const found = await parse(entry({ programs: most }));
    expect(found.get("example.com/acme/all")?.programs).toHaveLength(32);
  });
});
