import { toAsciiName, toUnicodeName } from "./idna.ts";

/** The host of an address that names none. */
export const DEFAULT_REGISTRY_HOST = "registry.terraform.io";

/** What {@link parseHost} found: the form for comparison, or why the text is no host. */
type HostResult =
  | { readonly ok: true; readonly host: string }
  | { readonly ok: false; readonly reason: string };

function refuse(reason: string): HostResult {
  return { ok: false, reason };
}

/** Splits at the first colon, as hosts are no IPv6 literals here. */
function splitPort(text: string): readonly [name: string, port: string | undefined] {
  const colon = text.indexOf(":");
  return colon < 0 ? [text, undefined] : [text.slice(0, colon), text.slice(colon + 1)];
}

/**
 * Brings a host name with optional port into the one form in which hosts are compared and stored:
 * lower case, labels outside ASCII in punycode, port without leading zeros and absent when it is
 * 443. A name given in punycode is refused, as templates are to be readable.
 */
export function parseHost(text: string): HostResult {
  const [name, portText] = splitPort(text);
  let port = "";
  if (portText !== undefined) {
    if (!/^[0-9]+$/.test(portText)) {
      if (/^https?$/i.test(name)) {
        return refuse("write just the host name and an optional port, not a whole URL");
      }
      return refuse("the port behind the colon must be a decimal number");
    }
    const number = Number(portText);
    if (number > 65_535) return refuse("the port must not be above 65535");
    if (number !== 443) port = `:${number}`;
  }
  if (name === "") return refuse("the host name is empty");

  const bare = name.endsWith(".") ? name.slice(0, -1) : name;
  const labels = bare.split(".");
  if (labels.includes("")) return refuse("there is an empty label, two dots in a row");
  const punycode = labels.find((label) => /^xn--/i.test(label));
  if (punycode !== undefined) {
    return refuse(`the label "${punycode}" is in punycode; write it in Unicode`);
  }
  const ascii = toAsciiName(bare);
  if (ascii === undefined) {
    return refuse(
      "each label must consist of letters, digits and dashes, and no dash may stand first, last, or third and fourth",
    );
  }
  return { ok: true, host: ascii + (bare === name ? "" : ".") + port };
}

/** The display form of a host that {@link parseHost} made: labels in Unicode. */
export function displayHost(host: string): string {
  const [name, port] = splitPort(host);
  return toUnicodeName(name) + (port === undefined ? "" : `:${port}`);
}
