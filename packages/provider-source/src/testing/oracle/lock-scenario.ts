/** A file of a package, or a symbolic link to one. */
type ScenarioFile =
  | { readonly text: string; readonly executable?: boolean }
  | { readonly link: string };

/** A package on offer. */
export interface ScenarioPackage {
  /** Address in full. */
  readonly source: string;
  readonly version: string;
  readonly platform: string;
  readonly files: Readonly<Record<string, ScenarioFile>>;
  /** As an archive with entries for directories, as most tools make it. @default unpacked */
  readonly packed?: boolean;
}

/** What stands for a package in the texts of a story, and names it in tables. */
export function packageKey(one: Pick<ScenarioPackage, "source" | "version" | "platform">): string {
  return `${one.source} ${one.version} ${one.platform}`;
}

/** What templates ask for, module by module; the first one is the root. */
type ScenarioModules = readonly Readonly<Record<string, string | null>>[];

/** A story that ends with a lock file. */
export interface LockScenario {
  readonly name: string;
  /**
   * `init` from a mirror folder, `init -upgrade`, `providers lock` for the given platforms, or
   * `init` from a registry whose checksums are signed.
   */
  readonly action: "init" | "upgrade" | "lock" | "signed";
  readonly platforms?: readonly string[];
  readonly packages: readonly ScenarioPackage[];
  /** Constraints by source, null for none. */
  readonly modules: ScenarioModules;
  /** The lock file at the start. `{{h1 SOURCE VERSION PLATFORM}}` stands for a package's hash. */
  readonly before?: string;
}

/** Sources and texts of small packages, different for every provider, version and platform. */
function pack(source: string, version: string, platform = "linux_amd64"): ScenarioPackage {
  const type = source.split("/").at(-1) ?? "";
  return {
    source,
    version,
    platform,
    files: {
      [`terraform-provider-${type}_v${version}`]: {
        text: `${source} ${version} ${platform}`,
        executable: true,
      },
      LICENSE: { text: "free\n" },
    },
  };
}

const A = "example.com/test/a";
const B = "example.com/test/b";
const HEADER = `# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.
`;

function entry(
  source: string,
  version: string,
  hashes: readonly string[],
  constraints?: string,
): string {
  const note = constraints === undefined ? "" : `\n  constraints = "${constraints}"`;
  const list = hashes.map((hash) => `    "${hash}",\n`).join("");
  return `\nprovider "${source}" {\n  version = "${version}"${note}\n  hashes = [\n${list}  ]\n}\n`;
}

/** The stories of which the command's lock files are recorded. */
export const LOCK_SCENARIOS: readonly LockScenario[] = [
  {
    name: "several-hosts",
    action: "init",
    packages: [
      pack("registry.terraform.io/hashicorp/random", "3.6.0"),
      pack("registry.terraform.io/hashicorp/random", "3.7.1"),
      pack("registry.terraform.io/hashicorp/random", "4.0.0-beta1"),
      pack("example.com:8443/test/ported", "1.0.0"),
      pack("пример.example/тест/über", "0.1.0"),
      pack("huawei.com/private-provider/hello-world", "0.0.1"),
      pack("Example.com/Test/Cased".toLowerCase(), "10.20.30"),
    ],
    modules: [
      {
        "hashicorp/random": "~> 3.6",
        "example.com:8443/test/ported": null,
        "Пример.example/Тест/Über": ">= 0.1",
        "huawei.com/private-provider/Hello-World": "0.0.1",
        "Example.com/Test/Cased": "> 9, < 11, != 10.20.29",
      },
    ],
  },
  {
    name: "constraints-of-several-modules",
    action: "init",
    packages: ["1.2.3", "1.4.0", "1.5.0", "2.0.0"].map((version) => pack(A, version)),
    modules: [
      { [A]: ">= 1.2.0, < 2.0.0" },
      { [A]: "~> 1.4, >=1.2" },
      { [A]: "!= 1.5.0" },
      { [A]: null },
    ],
  },
  {
    name: "prerelease-and-metadata",
    action: "init",
    packages: [pack(A, "1.0.0-beta.2"), pack(A, "1.0.0"), pack(B, "1.0.0+build.5")],
    modules: [{ [A]: "= 1.0.0-beta.2, >= 0.9", [B]: null }],
  },
  {
    name: "same-version-again",
    action: "init",
    packages: [pack(A, "1.0.0"), pack(A, "1.1.0")],
    modules: [{ [A]: ">= 1.0.0" }],
    before:
      HEADER +
      entry(A, "1.0.0", [
        `{{h1 ${A} 1.0.0 linux_amd64}}`,
        "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "h9:later",
        "zh:0000000000000000000000000000000000000000000000000000000000000000",
      ]),
  },
  {
    name: "unknown-schemes-only",
    action: "init",
    packages: [pack(A, "1.0.0")],
    modules: [{ [A]: "1.0.0" }],
    before: HEADER + entry(A, "1.0.0", ["h9:later", "x:$${y}%%{z}"], "1.0.0"),
  },
  {
    name: "upgrade",
    action: "upgrade",
    packages: [pack(A, "1.0.0"), pack(A, "1.1.0"), pack(B, "1.0.0")],
    modules: [{ [A]: "~> 1.0", [B]: "1.0.0" }],
    before:
      HEADER +
      entry(A, "1.0.0", [`{{h1 ${A} 1.0.0 linux_amd64}}`, "zh:12"], "~> 1.0") +
      entry(B, "1.0.0", [`{{h1 ${B} 1.0.0 linux_amd64}}`, "zh:34"], "1.0.0"),
  },
  {
    name: "provider-dropped",
    action: "init",
    packages: [pack(A, "1.0.0"), pack(B, "1.0.0")],
    modules: [{ [B]: null }],
    before:
      HEADER +
      entry(A, "1.0.0", [`{{h1 ${A} 1.0.0 linux_amd64}}`]) +
      entry(B, "1.0.0", [`{{h1 ${B} 1.0.0 linux_amd64}}`]),
  },
  {
    name: "only-constraints-changed",
    action: "init",
    packages: [pack(A, "1.0.0")],
    modules: [{ [A]: ">= 0.5.0" }],
    before: HEADER + entry(A, "1.0.0", [`{{h1 ${A} 1.0.0 linux_amd64}}`], "1.0.0"),
  },
  {
    name: "hand-edited",
    action: "init",
    packages: [pack(A, "1.0.0"), pack(B, "1.0.0")],
    modules: [{ [A]: "1.0.0", [B]: "1.0.0" }],
    before: `// mine\r\nprovider "${B}" { # b\r\n  hashes = ["{{h1 ${B} 1.0.0 linux_amd64}}"] /* one */\r\n\r\n  version="1.0.0"\r\n}\r\n`,
  },
  {
    name: "nothing-changed",
    action: "init",
    packages: [pack(A, "1.0.0")],
    modules: [{ [A]: "1.0.0" }],
    before: `# my own remark\nprovider "${A}" {\n  version = "1.0.0"\n\n  hashes = ["{{h1 ${A} 1.0.0 linux_amd64}}"]\n}\n`,
  },
  {
    name: "odd-file-names",
    action: "init",
    packages: [
      {
        ...pack(A, "1.0.0"),
        files: {
          "terraform-provider-a": { text: "a", executable: true },
          "a/b": { text: "1" },
          "a.b": { text: "2" },
          "a-b/c": { text: "3" },
          "A/b": { text: "4" },
          "a b": { text: "5" },
          ü: { text: "6" },
          "\ue000": { text: "7" },
          "\u{1f600}": { text: "8" },
          "back\\slash": { text: "9" },
          'quote"d': { text: "" },
          ".hidden/.file": { text: "x".repeat(300_000) },
          linked: { link: "a/b" },
        },
      },
    ],
    modules: [{ [A]: null }],
  },
  {
    name: "lock-for-platforms",
    action: "lock",
    platforms: ["linux_amd64", "darwin_arm64", "windows_386"],
    packages: ["linux_amd64", "darwin_arm64", "windows_386"].flatMap((platform) => [
      pack(A, "1.0.0", platform),
      { ...pack(B, "2.0.0", platform), packed: true },
    ]),
    modules: [{ [A]: "~> 1.0", [B]: null }],
    before: HEADER + entry(A, "1.0.0", [`{{h1 ${A} 1.0.0 linux_amd64}}`, "h9:later", "zh:56"]),
  },
  {
    name: "packed-packages",
    action: "init",
    packages: [
      {
        ...pack(A, "1.0.0"),
        packed: true,
        files: {
          "terraform-provider-a": { text: "#!/bin/sh\n", executable: true },
          "docs/one/two.md": { text: "two" },
          "docs/empty.md": { text: "" },
          "docs.md": { text: "docs" },
          "docs-more/ü.md": { text: "ü" },
          "Z.md": { text: "Z" },
        },
      },
    ],
    modules: [{ [A]: null }],
  },
  {
    name: "signed-registry",
    action: "signed",
    packages: ["linux_amd64", "darwin_arm64"].map((platform) => ({
      ...pack(A, "1.0.0", platform),
      packed: true,
    })),
    modules: [{ [A]: "~> 1.0" }],
  },
];
