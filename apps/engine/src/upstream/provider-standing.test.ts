import { ProviderAddress } from "@stackwright/provider-source";
import { expect, it } from "vitest";
import { providerStandings } from "./provider-standing.ts";

function start() {
  const asked: string[] = [];
  const find = providerStandings({
    published: {
      standing: async (account, { namespace, type }, version) => {
        asked.push(`${account} ${namespace}/${type} ${version}`);
        if (namespace === "theirs") return { state: "hidden" };
        if (type === "absent" || type === "bad") return undefined;
        return type === "gone" ? { state: "withdrawn", sinceMs: 7 } : { state: "offered" };
      },
    },
    mirror: {
      address: (host, namespace, type) =>
        host === "registry.example.com"
          ? ProviderAddress.parse(`${host}/${namespace}/${type}`)
          : undefined,
      quarantineOf: async (account, address, version) => {
        asked.push(`${account} ${address.toString()} ${version}`);
        return address.type === "bad" ? { sinceMs: 9, reason: "leaks" } : undefined;
      },
    },
    namespaces: new Map([["ours", { host: "registry.example.com", namespace: "hashicorp" }]]),
    ownHosts: () => ["stacks.example.com", "localterraform.com"],
    mirrorHosts: ["registry.example.com", "mirrored.example.com"],
  });
  const standing = async (source: string) =>
    find("acme", ProviderAddress.parse(source), "1.0.0").then(({ state, ...rest }) =>
      rest.sinceMs === 0 ? state : { state, ...rest },
    );
  return { standing, asked };
}

it("knows what was published to the server, under each of its hosts", async () => {
  const { standing, asked } = start();
  expect(await standing("stacks.example.com/acme/notes")).toBe("usable");
  expect(await standing("localterraform.com/acme/gone")).toEqual({
    state: "withdrawn",
    sinceMs: 7,
    reason: "",
  });
  expect(await standing("stacks.example.com/acme/absent")).toBe("unknown");
  expect(asked).toEqual([
    "acme acme/notes 1.0.0",
    "acme acme/gone 1.0.0",
    "acme acme/absent 1.0.0",
  ]);
});

it("knows the quarantine of a mirrored registry under its own address and under the upstream namespace", async () => {
  const { standing } = start();
  const quarantined = { state: "quarantined", sinceMs: 9, reason: "leaks" };
  expect(await standing("registry.example.com/hashicorp/bad")).toEqual(quarantined);
  expect(await standing("stacks.example.com/ours/bad")).toEqual(quarantined);
  expect(await standing("stacks.example.com/ours/random")).toBe("usable");
});

it("knows what was published also under the hosts that the server serves as a mirror, before their own quarantine", async () => {
  const { standing } = start();
  expect(await standing("registry.example.com/acme/gone")).toMatchObject({ state: "withdrawn" });
  expect(await standing("registry.example.com/ours/bad")).toMatchObject({ state: "quarantined" });
  expect(await standing("registry.example.com/hashicorp/absent")).toBe("usable");
});

it("knows the private namespaces of other accounts under its own hosts, and under no host of another registry", async () => {
  const { standing } = start();
  expect(await standing("stacks.example.com/theirs/notes")).toBe("hidden");
  expect(await standing("localterraform.com/theirs/absent")).toBe("hidden");
  expect(await standing("registry.example.com/theirs/notes")).toBe("usable");
  expect(await standing("mirrored.example.com/theirs/notes")).toBe("unknown");
});

it("asks no registry for providers of other hosts", async () => {
  const { standing, asked } = start();
  expect(await standing("other.example.com/hashicorp/bad")).toBe("unknown");
  expect(asked).toEqual([]);
});
