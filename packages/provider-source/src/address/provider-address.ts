import { ProviderSourceError, quoteForMessage } from "../errors.ts";
import { compareUtf8 } from "../order.ts";
import { DEFAULT_REGISTRY_HOST, displayHost, parseHost } from "./hostname.ts";
import { toAsciiName, toUnicodeName } from "./idna.ts";
import {
  BUILTIN_HOST,
  BUILTIN_NAMESPACE,
  DEFAULT_NAMESPACE,
  LEGACY_NAMESPACE,
  LOCAL_HOST,
  LOCAL_NAMESPACES,
  type ProviderAddressKind,
  providerKind,
} from "./provider-kind.ts";

type Part = "address" | "host" | "namespace" | "type";

function invalid(
  input: string,
  part: Part,
  problem: string,
  suggestion?: string,
): ProviderSourceError<"PROVIDER_SOURCE_ADDRESS_INVALID"> {
  const hint = suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`;
  return new ProviderSourceError(
    "PROVIDER_SOURCE_ADDRESS_INVALID",
    `Invalid provider source ${quoteForMessage(input)}: ${problem}.${hint}`,
    { input, part, ...(suggestion === undefined ? {} : { suggestion }) },
  );
}

/** The canonical form of a namespace or type, or why it is none. */
function parsePart(text: string): { readonly name: string } | { readonly reason: string } {
  if (text.includes(".")) return { reason: "dots are not allowed in it" };
  if (text.includes("--")) return { reason: "it must not have two dashes in a row" };
  const ascii = toAsciiName(text);
  const name = ascii === undefined ? undefined : toUnicodeName(ascii);
  // Some characters map to a dot or to nothing, so both rules are to be asked of the result as well.
  if (name === undefined || name.includes(".") || name.includes("--")) {
    return {
      reason:
        "it must consist of letters, digits and single dashes, and no dash may stand first or last",
    };
  }
  return { name };
}

/** Names of private providers, as their registry takes them; it knows lower case only. */
const PRIVATE_NAME = /^[0-9a-z](?:[0-9a-z-]*[0-9a-z])?$/;
const PRIVATE_NAME_MAX = 64;

/**
 * The address of a provider: host, namespace and type, each in canonical form, so that two
 * addresses name the same provider if and only if their texts are equal. Immutable.
 *
 * The rules are the command's: `[host/]namespace/type`, every part case-folded, host and namespace
 * defaulting to `registry.terraform.io` and `hashicorp`. A private provider may therefore be spelled
 * with capitals and still is the one with the lower-case name (seed 003, casing rule).
 */
export class ProviderAddress {
  /** Lower case, in punycode where needed, with the port unless it is 443. */
  readonly host: string;
  readonly namespace: string;
  readonly type: string;
  readonly kind: ProviderAddressKind;

  private constructor(host: string, namespace: string, type: string) {
    this.host = host;
    this.namespace = namespace;
    this.type = type;
    this.kind = providerKind(host, namespace, DEFAULT_REGISTRY_HOST);
    Object.freeze(this);
  }

  /**
   * Reads a `source` argument: `type`, `namespace/type` or `host/namespace/type`. Throws
   * `PROVIDER_SOURCE_ADDRESS_INVALID`, whose message says what to write instead.
   */
  static parse(this: void, source: string): ProviderAddress {
    const parts = source.split("/");
    if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(source)) {
      throw invalid(source, "address", "write [host/][namespace/]type, not a URL");
    }
    if (parts.length > 3 || parts.includes("")) {
      throw invalid(source, "address", "it must have the form [host/][namespace/]type");
    }
    const typeText = parts.at(-1) ?? "";
    const namespaceText = parts.at(-2) ?? DEFAULT_NAMESPACE;
    const hostText = parts.at(-3);

    let host = DEFAULT_REGISTRY_HOST;
    if (hostText !== undefined) {
      const result = parseHost(hostText);
      if (!result.ok)
        throw invalid(source, "host", `host ${quoteForMessage(hostText)}: ${result.reason}`);
      host = result.host;
    }

    let namespace = LEGACY_NAMESPACE;
    if (namespaceText !== LEGACY_NAMESPACE) {
      const result = parsePart(namespaceText);
      if ("reason" in result) {
        throw invalid(
          source,
          "namespace",
          `namespace ${quoteForMessage(namespaceText)}: ${result.reason}`,
        );
      }
      namespace = result.name;
    } else if (host !== DEFAULT_REGISTRY_HOST) {
      throw invalid(
        source,
        "namespace",
        `the legacy namespace "-" exists only on ${DEFAULT_REGISTRY_HOST}`,
      );
    }
    return ProviderAddress.#withType(source, host, namespace, typeText);
  }

  /**
   * The address of a provider that a template uses without declaring it, by its local name: the
   * built-in one for `terraform`, else `hashicorp/<name>` on the default host.
   */
  static implied(this: void, localName: string): ProviderAddress {
    const address = ProviderAddress.parse(`${DEFAULT_NAMESPACE}/${localName}`);
    return address.type === "terraform"
      ? new ProviderAddress(BUILTIN_HOST, BUILTIN_NAMESPACE, address.type)
      : address;
  }

  static #withType(source: string, host: string, namespace: string, text: string): ProviderAddress {
    const kind = providerKind(host, namespace, DEFAULT_REGISTRY_HOST);
    if (kind === "private") {
      const name = text.toLowerCase();
      if (name.length > PRIVATE_NAME_MAX || !PRIVATE_NAME.test(name)) {
        throw invalid(
          source,
          "type",
          `the name of a private provider has 1 to ${PRIVATE_NAME_MAX} letters of ASCII, digits and dashes, and starts and ends with a letter or digit`,
        );
      }
      return new ProviderAddress(host, namespace, name);
    }
    if (host === LOCAL_HOST && kind === "registry") {
      const known = LOCAL_NAMESPACES.map((name) => `${LOCAL_HOST}/${name}/<name>`).join(" or ");
      throw invalid(source, "namespace", `under ${LOCAL_HOST} there is only ${known}`);
    }

    const result = parsePart(text);
    if ("reason" in result) {
      throw invalid(source, "type", `type ${quoteForMessage(text)}: ${result.reason}`);
    }
    const type = result.name;
    if (kind === "pulumi" || kind === "cocorpc") {
      if (type.startsWith("pulumi-resource-")) {
        const name = type.slice("pulumi-resource-".length);
        throw invalid(
          source,
          "type",
          `write the name of the provider, without "pulumi-resource-", which only its executable has`,
          name === "" ? undefined : `${host}/${namespace}/${name}`,
        );
      }
    } else if (type.startsWith("terraform-")) {
      const rest = type.startsWith("terraform-provider-")
        ? type.slice("terraform-provider-".length)
        : "";
      const meant = rest === "" ? undefined : new ProviderAddress(host, namespace, rest);
      throw invalid(
        source,
        "type",
        meant === undefined
          ? `a type must not start with "terraform-", which every provider could have; if you are its author, give it a name without that`
          : `"terraform-provider-" belongs to the name of the repository and of the executable, not to the source`,
        meant?.toDisplay(),
      );
    }
    return new ProviderAddress(host, namespace, type);
  }

  /** The host for display: labels outside ASCII in Unicode. */
  get displayHost(): string {
    return displayHost(this.host);
  }

  /** Whether the command's lock file may have an entry for it: not for built-in and legacy ones. */
  get lockable(): boolean {
    return this.kind !== "builtin" && this.kind !== "legacy";
  }

  /**
   * Why an unmodified `terraform` refuses this address although it is good here, or undefined if
   * it does not. Only private providers and local ones can have such names.
   */
  get commandObjection(): string | undefined {
    if (this.type.includes("--")) return "the command refuses two dashes in a row in a type";
    if (this.type.startsWith("terraform-")) {
      return 'the command refuses types that start with "terraform-"';
    }
    return undefined;
  }

  /** The full canonical form, host in Unicode: what lock files, states and mirrors carry. */
  toString(): string {
    return `${this.displayHost}/${this.namespace}/${this.type}`;
  }

  /** The short form for display: without the host when it is the default one. */
  toDisplay(): string {
    return this.host === DEFAULT_REGISTRY_HOST ? `${this.namespace}/${this.type}` : this.toString();
  }

  toJSON(): string {
    return this.toString();
  }

  equals(other: ProviderAddress): boolean {
    return (
      this.host === other.host && this.namespace === other.namespace && this.type === other.type
    );
  }

  /** The order of lock files: host in its form for comparison, then namespace, then type. */
  static compare(this: void, a: ProviderAddress, b: ProviderAddress): number {
    return (
      compareUtf8(a.host, b.host) ||
      compareUtf8(a.namespace, b.namespace) ||
      compareUtf8(a.type, b.type)
    );
  }
}
