import { ProviderAddress } from "@stackwright/provider-source";
import { expect, it } from "vitest";
import { ServerError } from "../domain/server-error.ts";
import { withUpstreamNamespaces } from "./own-namespaces.ts";

const DOCUMENTS = {
  protocols: ["5.0"],
  filename: "terraform-provider-random_1.0.0_linux_amd64.zip",
  sha256: "a".repeat(64),
  checksums: Buffer.from("sums"),
  signature: Buffer.from("signature"),
  signingKeys: [],
};

it("runs find providers of upstream namespaces beside those that were published", async () => {
  const asked: string[] = [];
  const note = (what: string, account: string, { type }: { readonly type: string }) => {
    asked.push(`${what} ${account} ${type}`);
    if (type === "absent") throw new ServerError("not_found", "there is none");
    if (type === "quarantined") throw new ServerError("conflict", "it is quarantined");
  };
  const providers = withUpstreamNamespaces(
    {
      versions: async (account, { type }) => [
        { version: "9.0.0", protocols: [account, type], platforms: [] },
      ],
      package: async () => undefined,
      standing: async () => undefined,
    },
    {
      address: (host, namespace, type) => ProviderAddress.parse(`${host}/${namespace}/${type}`),
      releases: async (account, address) => {
        note("releases", account, address);
        return [{ version: "1.0.0", protocols: ["5.0"], platforms: ["linux_amd64"] }];
      },
      download: async (account, address) => {
        note("download", account, address);
        return DOCUMENTS;
      },
      package: async (account, address) => {
        note("package", account, address);
        return { sha256: DOCUMENTS.sha256, size: 7 };
      },
    },
    new Map([["ours", { host: "registry.example.com", namespace: "hashicorp" }]]),
  );
  const nameOf = (type: string, namespace = "ours") => ({ namespace, type });
  const packageOf = async (type: string) =>
    providers.package("acme", nameOf(type), "1.0.0", "linux_amd64");
  expect(await providers.versions("acme", nameOf("notes", "acme"))).toMatchObject([
    { version: "9.0.0", protocols: ["acme", "notes"] },
  ]);
  expect(await providers.versions("acme", nameOf("random"))).toMatchObject([{ version: "1.0.0" }]);
  expect(await packageOf("random")).toEqual({ ...DOCUMENTS, size: 7 });
  expect(asked).toEqual(["releases acme random", "download acme random", "package acme random"]);
  expect(await providers.versions("acme", nameOf("absent"))).toEqual([]);
  expect(await packageOf("absent")).toBeUndefined();
  await expect(packageOf("quarantined")).rejects.toThrow("it is quarantined");
});
