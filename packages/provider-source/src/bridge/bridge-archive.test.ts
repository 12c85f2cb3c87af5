import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { ProviderAddress } from "../address/provider-address.ts";
import { unpackArchive } from "../archive/unpack.ts";
import { Platform } from "../platform.ts";
import { checkBridgeSource } from "../testing/check-bridge-source.ts";
import { Scratch } from "../testing/oracle/scratch.ts";
import { createStaticBridgeSource } from "../testing/static-bridge-source.ts";
import { Version } from "../version/version.ts";
import type { BridgeArchive, BridgeArchiveSource, BridgeBinding } from "./bridge-archive.ts";
import { packBridgeArchive } from "./packed-bridge-archive.ts";

const binding: BridgeBinding = {
  address: ProviderAddress.parse("huawei.com/private-provider/Hello"),
  version: Version.parse("1.2.3"),
  functionUrn: "urn:fss:cn-north-7:a61dfe3154de42829367056598d5040f:function:default:test:latest",
};
const platforms = ["windows_amd64", "linux_amd64", "linux_arm64"].map(Platform.parse);
const source = createStaticBridgeSource({ platforms });

/** The same source, with its archives changed. */
function broken(change: (archive: BridgeArchive) => Partial<BridgeArchive>): BridgeArchiveSource {
  return {
    ...source,
    archive: async (request) => {
      const archive = await source.archive(request);
      return archive && { ...archive, ...change(archive) };
    },
  };
}

describe("the static bridge source", () => {
  it("keeps all rules of the interface", async () => {
    expect(await checkBridgeSource(source, binding)).toEqual([]);
    expect((await source.platforms(binding)).map(String)).toEqual([
      "linux_amd64",
      "linux_arm64",
      "windows_amd64",
    ]);
  });

  it("gives an archive that can be installed", async () => {
    await using scratch = await Scratch.create();
    const archive = await source.archive({ ...binding, platform: Platform.parse("linux_arm64") });
    if (archive === undefined) throw new Error("no archive");
    expect(archive.filename).toBe("terraform-provider-hello_1.2.3_linux_arm64.zip");
    await writeFile(scratch.path(archive.filename), archive.read());
    await unpackArchive(scratch.path(archive.filename), scratch.path("out"), {
      expectedHashes: [archive.zh],
    });
    expect(await scratch.tree(scratch.path("out"))).toMatchObject({
      "terraform-provider-hello_v1.2.3": expect.stringMatching(/^755 #!\/bin\/sh/) as string,
    });
  });

  it("is bound to provider, version and function", async () => {
    const hashes = new Set<string>();
    for (const change of [
      {},
      { address: ProviderAddress.parse("huawei.com/private-provider/other") },
      { version: Version.parse("1.2.4") },
      { functionUrn: `${binding.functionUrn}2` },
    ]) {
      const archive = await source.archive({ ...binding, ...change, platform: platforms[0]! });
      hashes.add(archive?.h1 ?? "");
    }
    expect(hashes.size).toBe(4);
  });

  it("stops when the caller gives up", async () => {
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(source.platforms(binding, { signal })).rejects.toThrow("enough");
    await expect(
      source.archive({ ...binding, platform: platforms[0]! }, { signal }),
    ).rejects.toThrow("enough");
    const archive = await source.archive({ ...binding, platform: platforms[0]! });
    await expect(async () => {
      for await (const _ of archive?.read({ signal }) ?? []);
    }).rejects.toThrow("enough");
  });
});

describe("the check of bridge sources", () => {
  const changing = (archive: BridgeArchive): Partial<BridgeArchive> => {
    let reads = 0;
    return {
      async *read() {
        if (reads++ === 0) yield* archive.read();
        else yield Buffer.from("something else");
      },
    };
  };
  const repacked = async (path: string, mode: number): Promise<BridgeArchiveSource> => {
    const archives = new Map<string, BridgeArchive>();
    for (const platform of platforms) {
      const entries = [{ path, mode, content: Buffer.from("x") }];
      archives.set(
        platform.toString(),
        await packBridgeArchive({ ...binding, platform }, entries, ["5.0"]),
      );
    }
    return { ...source, archive: async ({ platform }) => archives.get(platform.toString()) };
  };

  it.each<[string, () => BridgeArchiveSource | Promise<BridgeArchiveSource>]>([
    [
      "the size is that of the bytes",
      () => broken(({ sizeBytes }) => ({ sizeBytes: sizeBytes + 1 })),
    ],
    ["zh is the hash of the bytes", () => broken(({ h1 }) => ({ zh: h1 }))],
    ["h1 is the hash of the content", () => broken(({ zh }) => ({ h1: zh }))],
    ["the file name is that of the package", () => broken(() => ({ filename: "x.zip" }))],
    ["at least one protocol is named", () => broken(() => ({ protocols: [] }))],
    ["a second reading gives the same bytes", () => broken(changing)],
    ["the executable has its executable bits", () => repacked("terraform-provider-hello", 0o644)],
    [
      "the provider's executable is at the root",
      () => repacked("bin/terraform-provider-hello", 0o755),
    ],
    [
      "there is no archive for a platform that is not listed",
      () => {
        const archive = source.archive({ ...binding, platform: platforms[0]! });
        return { ...source, archive: () => archive };
      },
    ],
    [
      "there is an archive for a platform that is listed",
      () => ({ ...source, archive: async () => undefined }),
    ],
    ["there is at least one platform", () => ({ ...source, platforms: async () => [] })],
    ["the platforms are in order", () => ({ ...source, platforms: async () => platforms })],
    ["the revision is not empty", () => ({ ...source, revision: "" })],
  ])("notices when it is not so that %s", async (rule, make) => {
    const found = await checkBridgeSource(await make(), binding);
    expect(
      found.some((text) => text.endsWith(rule)),
      found.join("; "),
    ).toBe(true);
  });

  it("notices archives that differ from one request to the next", async () => {
    let requests = 0;
    const unstable = createStaticBridgeSource({
      executable: () => Buffer.from(String(requests++)),
    });
    const found = await checkBridgeSource(unstable, binding);
    expect(found).toEqual([expect.stringContaining("an equal request gives the same bytes")]);
  });
});
