import { DEFAULT_REGISTRY_HOST, ProviderAddress } from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";

/** Which providers a rule of the command's configuration is for: an address in which parts may be `*`. */
export class AddressPattern {
  readonly #parts: readonly [host: string, namespace: string, type: string];

  private constructor(host: string, namespace: string, type: string) {
    this.#parts = [host, namespace, type];
  }

  /**
   * Reads `[host/]namespace/type`. A wildcard for the host, needs wildcards behind it, and one for the
   * namespace needs one for the type. `TFPLUGIN_CLI_CONFIG_INVALID`.
   */
  static parse(text: string): AddressPattern {
    const parts = text.split("/");
    const [type = "", namespace = "", host = DEFAULT_REGISTRY_HOST] = parts.toReversed();
    const isHole = (namespace === "*" || host === "*") && type !== "*";
    if (parts.length < 2 || parts.length > 3 || isHole || (host === "*" && namespace !== "*")) {
      throw invalid(text);
    }
    try {
      // A wildcard stands for any name that is one.
      const address = ProviderAddress.parse(
        [host === "*" ? "example.com" : host, wild(namespace), wild(type)].join("/"),
      );
      return new AddressPattern(
        host === "*" ? "*" : address.host,
        namespace === "*" ? "*" : address.namespace,
        type === "*" ? "*" : address.type,
      );
    } catch (cause) {
      throw invalid(text, cause);
    }
  }

  matches({ host, namespace, type }: ProviderAddress): boolean {
    const [ourHost, ourNamespace, ourType] = this.#parts;
    return (
      (ourHost === "*" || ourHost === host) &&
      (ourNamespace === "*" || ourNamespace === namespace) &&
      (ourType === "*" || ourType === type)
    );
  }

  toString(): string {
    return this.#parts.join("/");
  }
}

function wild(part: string): string {
  return part === "*" ? "any" : part;
}

function invalid(text: string, cause?: unknown): TfpluginError {
  const shown = JSON.stringify(text);
  const why = `${shown} is not a valid provider address pattern, such as "example.com/*/*" or "acme/thing"`;
  return new TfpluginError("TFPLUGIN_CLI_CONFIG_INVALID", why, { cause });
}
