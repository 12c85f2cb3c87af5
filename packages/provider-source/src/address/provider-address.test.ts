import { describe, expect, it } from "vitest";
import { ProviderSourceError } from "../errors.ts";
import { readAnswers } from "../testing/oracle/fixtures.ts";
import { STRICTER_THAN_COMMAND } from "../testing/oracle/inputs.ts";
import { ProviderAddress } from "./provider-address.ts";

const recorded = await readAnswers();

function parseOrNull(source: string): string | null {
  try {
    return ProviderAddress.parse(source).toString();
  } catch (error) {
    if (ProviderSourceError.is(error, "PROVIDER_SOURCE_ADDRESS_INVALID")) return null;
    throw error;
  }
}

function refusal(source: string) {
  try {
    ProviderAddress.parse(source);
  } catch (error) {
    if (ProviderSourceError.is(error, "PROVIDER_SOURCE_ADDRESS_INVALID")) return error;
    throw error;
  }
  throw new Error(`${source} was taken`);
}

describe("source addresses", () => {
  const comparable = recorded.addresses.filter(
    ({ source }) => !STRICTER_THAN_COMMAND.includes(source),
  );

  it("has recorded answers of the command, both ways", () => {
    expect(comparable.filter(({ address }) => address !== null).length).toBeGreaterThan(50);
    expect(comparable.filter(({ address }) => address === null).length).toBeGreaterThan(40);
  });

  it.each(comparable)("reads $source as the command does: $address", ({ source, address }) => {
    expect(parseOrNull(source)).toBe(address);
  });

  it.each(STRICTER_THAN_COMMAND)("refuses %j, which the command takes", (source) => {
    expect(recorded.addresses.find((answer) => answer.source === source)?.address).not.toBeNull();
    expect(parseOrNull(source)).toBeNull();
  });

  it("keeps the parts in the form for comparison", () => {
    const address = ProviderAddress.parse("Пример.example:08443/Über/FOO");
    expect(address).toMatchObject({
      host: "xn--e1afmkfd.example:8443",
      displayHost: "пример.example:8443",
      namespace: "über",
      type: "foo",
      kind: "registry",
    });
    expect(Object.isFrozen(address)).toBe(true);
  });

  it("leaves the default host out of the short form", () => {
    expect(ProviderAddress.parse("hashicorp/aws").toDisplay()).toBe("hashicorp/aws");
    expect(ProviderAddress.parse("example.com/a/b").toDisplay()).toBe("example.com/a/b");
    expect(JSON.stringify({ of: ProviderAddress.parse("a/b") })).toBe(
      '{"of":"registry.terraform.io/a/b"}',
    );
  });

  it("distinguishes the kinds", () => {
    const kinds = {
      "hashicorp/aws": "registry",
      "huawei.com/other/x": "registry",
      "terraform.io/builtin/terraform": "builtin",
      "-/aws": "legacy",
      "huawei.com/private-provider/x": "private",
      "stackwright.local/pulumi/random": "pulumi",
      "stackwright.local/cocorpc/aws": "cocorpc",
    };
    for (const [source, kind] of Object.entries(kinds)) {
      expect(ProviderAddress.parse(source).kind, source).toBe(kind);
    }
  });

  it("knows which providers lock files can hold", () => {
    expect(ProviderAddress.parse("terraform.io/builtin/terraform").lockable).toBe(false);
    expect(ProviderAddress.parse("-/aws").lockable).toBe(false);
    expect(ProviderAddress.parse("huawei.com/private-provider/x").lockable).toBe(true);
  });

  it("implies the built-in provider for terraform and the default namespace for others", () => {
    expect(ProviderAddress.implied("terraform").toString()).toBe("terraform.io/builtin/terraform");
    expect(ProviderAddress.implied("aws").toString()).toBe("registry.terraform.io/hashicorp/aws");
  });

  it("sorts by the form for comparison of the host", () => {
    const sources = ["пример.example/a/b", "zzz.example/a/b", "a.example/b/a", "a.example/a/z"];
    const sorted = sources.map(ProviderAddress.parse).sort(ProviderAddress.compare);
    expect(sorted.map(String)).toEqual([
      "a.example/a/z",
      "a.example/b/a",
      "пример.example/a/b",
      "zzz.example/a/b",
    ]);
  });
});

describe("private providers", () => {
  it("takes the name in any case and lowers it", () => {
    const address = ProviderAddress.parse("Huawei.com/private-provider/HelloWorld");
    expect(address.toString()).toBe("huawei.com/private-provider/helloworld");
    expect(address.equals(ProviderAddress.parse("huawei.com/private-provider/helloworld"))).toBe(
      true,
    );
  });

  it("takes names that the registry takes and the command does not, and says so", () => {
    for (const name of ["a--b", "ab--cd", "terraform-x", "terraform-provider-x", "xn--a"]) {
      const address = ProviderAddress.parse(`huawei.com/private-provider/${name}`);
      expect(address.type).toBe(name);
      expect(address.commandObjection, name).toMatch(/^the command refuses/);
    }
    expect(
      ProviderAddress.parse("huawei.com/private-provider/a-b").commandObjection,
    ).toBeUndefined();
  });

  it("refuses names that the registry refuses", () => {
    for (const name of ["-a", "a-", "a_b", "ü", "ａ", "a.b", "a".repeat(65), "a\n"]) {
      expect(refusal(`huawei.com/private-provider/${name}`).details.part, name).toBe("type");
    }
    expect(ProviderAddress.parse(`huawei.com/private-provider/${"a".repeat(64)}`).kind).toBe(
      "private",
    );
  });
});

describe("local providers", () => {
  it("takes names that would be redundant for Terraform providers", () => {
    const address = ProviderAddress.parse("stackwright.local/pulumi/terraform-provider");
    expect(address.type).toBe("terraform-provider");
  });

  it("knows two protocols and names them when asked for another", () => {
    expect(refusal("stackwright.local/lumi/aws").message).toContain(
      "stackwright.local/pulumi/<name> or stackwright.local/cocorpc/<name>",
    );
  });

  it("suggests the provider's name for that of its executable", () => {
    const error = refusal("stackwright.local/pulumi/pulumi-resource-random");
    expect(error.details.suggestion).toBe("stackwright.local/pulumi/random");
  });
});

describe("what refusals say", () => {
  it.each([
    ["https://example.com/a/b", "address", "not a URL"],
    ["https:/a/b", "host", "not a whole URL"],
    ["a/b/c/d", "address", "[host/][namespace/]type"],
    ["xn--e1afmkfd.example/a/b", "host", "write it in Unicode"],
    ["example.com:70000/a/b", "host", "65535"],
    ["a_b/c", "namespace", "letters, digits and single dashes"],
    ["a/b.c", "type", "dots are not allowed"],
    ["example.com/-/aws", "namespace", "registry.terraform.io"],
    ["a/terraform-foo", "type", "give it a name without that"],
  ] as const)("%s: the %s is wrong, %s", (source, part, hint) => {
    const error = refusal(source);
    expect(error.details.part).toBe(part);
    expect(error.message).toContain(hint);
  });

  it("suggests the address without the prefix of repositories", () => {
    expect(refusal("Acme/terraform-provider-Foo").details.suggestion).toBe("acme/foo");
    expect(refusal("example.com/acme/terraform-provider-foo").details.suggestion).toBe(
      "example.com/acme/foo",
    );
  });

  it("escapes and shortens what it quotes", () => {
    const error = refusal(`a/\u001b[31m${"x".repeat(5000)}`);
    expect(error.message).not.toContain("\u001b");
    expect(error.message.length).toBeLessThan(600);
    expect(error.details.input).toHaveLength(5007);
  });
});
