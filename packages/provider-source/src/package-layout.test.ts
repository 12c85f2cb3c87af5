import { describe, expect, it } from "vitest";
import { ProviderAddress } from "./address/provider-address.ts";
import { archiveFilename, packedPath, providerExecutable, unpackedPath } from "./package-layout.ts";
import { Platform } from "./platform.ts";
import { Version } from "./version/version.ts";

describe("platforms", () => {
  it("are an operating system and an architecture", () => {
    const platform = Platform.parse("windows_386");
    expect(platform).toMatchObject({ os: "windows", arch: "386" });
    expect(JSON.stringify([platform])).toBe('["windows_386"]');
    expect(platform.equals(new Platform("windows", "386"))).toBe(true);
  });

  it.each([
    "",
    "linux",
    "linux_",
    "_amd64",
    "linux_amd64_v2",
    "linux amd64",
    "Linux_amd64",
    "linux_amd64\n",
    "../x_y",
  ])("are not %j", (text) => {
    expect(() => Platform.parse(text)).toThrow(
      expect.objectContaining({ code: "PROVIDER_SOURCE_PLATFORM_INVALID" }),
    );
  });

  it.each([
    ["linux", "x64", "linux_amd64"],
    ["linux", "arm64", "linux_arm64"],
    ["linux", "arm", "linux_arm"],
    ["darwin", "arm64", "darwin_arm64"],
    ["win32", "ia32", "windows_386"],
    ["sunos", "x64", "solaris_amd64"],
    ["linux", "s390x", "linux_s390x"],
    ["linux", "mipsel", "linux_mipsle"],
  ])("of Node on %s %s are called %s", (os, arch, name) => {
    expect(Platform.ofNode(os, arch).toString()).toBe(name);
  });

  it("name the byte order of PowerPC", () => {
    expect(Platform.ofNode("linux", "ppc64", "LE").toString()).toBe("linux_ppc64le");
    expect(Platform.ofNode("linux", "ppc64", "BE").toString()).toBe("linux_ppc64");
    expect(Platform.ofNode("aix", "ppc64", "BE").toString()).toBe("aix_ppc64");
  });

  it("sort by system, then architecture", () => {
    const sorted = ["windows_386", "linux_arm64", "linux_amd64"]
      .map(Platform.parse)
      .sort(Platform.compare);
    expect(sorted.map(String)).toEqual(["linux_amd64", "linux_arm64", "windows_386"]);
  });
});

describe("the layout of packages", () => {
  const id = {
    address: ProviderAddress.parse("Пример.example:8443/Test/Über"),
    version: Version.parse("1.0.0-rc.1+b"),
    platform: Platform.parse("linux_amd64"),
  };

  it("has places in mirrors", () => {
    expect(archiveFilename(id)).toBe("terraform-provider-über_1.0.0-rc.1+b_linux_amd64.zip");
    expect(packedPath(id)).toBe(
      "пример.example:8443/test/über/terraform-provider-über_1.0.0-rc.1+b_linux_amd64.zip",
    );
    expect(unpackedPath(id)).toBe("пример.example:8443/test/über/1.0.0-rc.1+b/linux_amd64");
  });

  it.each([
    [["LICENSE", "terraform-provider-x"], "terraform-provider-x"],
    [["terraform-provider-x_v1.0.0_x5"], "terraform-provider-x_v1.0.0_x5"],
    [["terraform-provider-x.exe"], "terraform-provider-x.exe"],
    [["terraform-provider-x_v1.0.0", "terraform-provider-x_v0.9.0"], "terraform-provider-x_v0.9.0"],
    [["terraform-provider-xy", "terraform-provider-x-y", "Terraform-provider-x"], undefined],
    [[], undefined],
  ])("has its executable among %j: %s", (files, executable) => {
    expect(providerExecutable(files, "x")).toBe(executable);
  });
});
