import type { ConstraintQuestion } from "./ask-constraints.ts";

/** Sources whose reading by the command is recorded. */
export const RECORDED_SOURCES: readonly string[] = [
  ["aws", "AWS", "terraform", "TERRAFORM", "hashicorp/aws", "HashiCorp/AWS", "a/terraform"],
  ["registry.terraform.io/a/b", "REGISTRY.Terraform.IO/A/B", "example.com/a/b", "localhost/a/b"],
  ["example.com:443/a/b", "example.com:8443/a/b", "example.com:08443/a/b", "example.com:0/a/b"],
  ["example.com:/a/b", "example.com:65535/a/b", "example.com:65536/a/b", "example.com:x/a/b"],
  ["https://example.com/a/b", "https:/a/b", "http:/a/b", "[::1]/a/b", "example.com./a/b"],
  ["example..com/a/b", ".example.com/a/b", "./a/b", "xn--e1afmkfd.example/a/b"],
  [
    "Пример.example/a/b",
    "例え。テスト/a/b",
    "例え.テスト./a/b",
    "straße.example/a/b",
    "ς.example/a/b",
  ],
  [
    "127.0.0.1/a/b",
    "127.1/a/b",
    "0x7f.1/a/b",
    "１２７.0.0.1/a/b",
    "１/a/b",
    "a/１２３",
    "a/0",
    "0/0",
  ],
  ["ex_ample.com/a/b", "ab--cd.example/a/b", "a-.example/a/b", "-a.example/a/b", "a-b.example/a/b"],
  [
    "א.a1/a/b",
    "1.א/a/b",
    "😀a.א/a/b",
    "a😀.א/a/b",
    "१.א/a/b",
    "a१.א/a/b",
    "a/א",
    "a/אa",
    "a/א1",
    "a/a\u200db",
    "a/क\u094d\u200dष",
    "a/\u0301a",
  ],
  ["-/aws", "registry.terraform.io/-/aws", "example.com/-/aws", "-/-", "builtin/terraform"],
  ["terraform.io/builtin/terraform", "Terraform.IO/Builtin/TERRAFORM", "terraform.io/builtin/foo"],
  ["a/terraform-provider-foo", "a/terraform-foo", "a/terraform-provider-", "a/TERRAFORM-foo"],
  ["a/b_c", "a_b/c", "a/b--c", "a--b/c", "a/-b", "a/b-", "a/b.c", "a.b/c", "a/_", "?/b", "a/?"],
  ["a//b", "/a/b", "a/b/", "a/b/c/d", "", "/", " a/b", "a/ b", "a/b ", "a/b\n", "*/b", "a/b\\c"],
  ["a/Über", "Ünï/b", "a/ß", "a/😀", "ex😀.com/a/b", "a/≠", "a/a≮b", "a/a\u00adb", "a/İ"],
  ["hashicorp/ﬀ", "a/Ⅷ", "a/ｆｏｏ", "a/\u212a", "a/ſ", "a/é", "a/e\u0301"],
  ["huawei.com/private-provider/MyProv", "HUAWEI.com/Private-Provider/X", "huawei.com/a/b"],
  ["stackwright.local/pulumi/random", "stackwright.local/cocorpc/Random"],
  [`a/${"b".repeat(70)}`, `${"l".repeat(70)}.example/a/b`, "a/9-9", "a/a-1-b"],
].flat();

/**
 * Sources that the command takes and this package refuses: names that only mapping makes empty, or
 * gives a dot or two dashes; two dots at the end of a host; ports with a sign; punycode in capitals.
 */
export const STRICTER_THAN_COMMAND: readonly string[] = [
  ["a/b。c", "a/x-\u00ad-y", "example.com:+80/a/b", "example.com:-1/a/b"],
  ["XN--e1afmkfd.example/a/b", "a/\u00ad", "\u00ad/b", "a.\u00ad/a/b", "example.com../a/b"],
].flat();

const VERSIONS: readonly string[] = [
  ["0.0.0", "0.0.1", "0.9.9", "1.0.0", "1.0.1", "1.1.0", "1.2.3", "1.10.0", "2.0.0", "10.0.0"],
  ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "2.0.0-rc1"],
  ["0.0.0-alpha", "0.0.0+x", "1.0.0+a", "1.0.0+b.1", "1.0.0-beta+a", "9223372036854775807.0.1"],
].flat();

const CONSTRAINTS: readonly (string | null)[] = [
  [null, "1.0.0", "= 1.0.0", "=1", "!= 1.0.0", "> 1.0.0", ">= 1.0.0", "< 1.0.0", "<= 1.0.0"],
  ["~> 1", "~> 1.0", "~> 1.0.0", "~> 0", "~> 0.0.1", "~> 1.0.0-beta", "~> 1.0-beta", "~> 2-rc1"],
  [
    ">= 0.9, < 2.0.0",
    ">= 1.0, != 1.1.0, < 2",
    "> 0.0.0",
    ">= 0",
    "< 0.0.1",
    "<= 9223372036854775807",
  ],
  ["1.0.0-alpha", "1.0.0-beta, >= 0.9", "1.0.0-beta, >= 1.0.0", "1.0.0-beta, > 1.0.0-alpha.1"],
  ["1.0.0-beta.2, > 1.0.0-alpha", "1.0.0-alpha.1, < 1.0.0-beta", "> 1.0.0-alpha", "!= 1.0.0-alpha"],
  ["1.0.0+a", "!= 1.0.0+a", ">= 1.0.0+zz", "1.0.0-beta+a", "~> 1.0.0+a", "0.0.0", "0.0.0-alpha"],
].flat();

/** Constraints whose text, not whose meaning, is in question. */
const TEXTS: readonly string[] = [
  ["", " ", ",", "1.0.0,", ",1.0.0", "1.0.0,,2", " 1.0.0 ", "\t1.0.0", "1.0.0\n", "1.0.0 , >= 1"],
  [">=1", ">= 1", ">=  1", ">=\t1", ">=\n1", "v1.0.0", ">= v1", "V1.0.0", "1.0.0.0", "1.x", "*"],
  ["=> 1", "=< 1", "~1", "^1", "== 1", "<> 1", "! 1", "!1", "~> 1.0.0beta", ">= 0.9 < 2"],
  ["1.0.0+", "1.0.0~a", "> 1.0.0~a", "01.0.0", "1.01", "1.0.0-01", "1.0.0-a..b", "1.0.0+a..b"],
  ["1.0.0-a-b", "1.0.0--a", "1.0.0-0.1", "latest", ">=", "1.0.0 || 2.0.0", "1 - 2", "1.", ".1"],
  ["= 1.0.0, = 1.0.0", "1.0.0,1", "!=1.0.1, !=1.0.2,>0.1,<=1", "<= 1, >= 1, > 0, < 2, != 3, 1"],
  [
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "> 1.0.0, ~> 1.0, ~> 1.0.0",
  ],
  ["> 1.0.0+b, > 1.0.0+a, > 1.0.0", ">= 1.0.0-beta, >= 1.0.0-alpha.1, >= 1.0.0-alpha, >= 1.0.0"],
  ["!= 2, != 10, != 1.10, != 1.9", "1.0.0-é", "１.0.0", "1.0.0;", "1_000"],
].flat();

/** Versions and constraints whose answer by the command is recorded. */
export const RECORDED_QUESTIONS: readonly ConstraintQuestion[] = [
  ...VERSIONS.flatMap((version) => CONSTRAINTS.map((constraint) => ({ version, constraint }))),
  ...TEXTS.map((constraint) => ({ version: "1.0.0", constraint })),
];

/** Constraints that the command takes, reading an empty pre-release as none, and this package refuses. */
export const STRICTER_QUESTIONS: readonly ConstraintQuestion[] = [
  { version: "1.0.0", constraint: "1.0.0-" },
  { version: "1.0.1", constraint: "> 1.0.0-" },
];
