import { LOCAL_HOST, type ProviderAddress } from "@stackwright/provider-source";

/** A program that is a provider. */
export interface LocalProvider {
  /** Path of the program, or a name to be found in `PATH`. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Text of a Pulumi package schema, for providers that have none of their own. */
  readonly schema?: string;
}

/** `x` of a source `stackwright.local/<protocol>/x`; undefined for other sources. */
export function localName(
  source: ProviderAddress | string,
  protocol: "pulumi" | "cocorpc",
): string | undefined {
  const prefix = `${LOCAL_HOST}/${protocol}/`;
  const text = source.toString();
  return text.startsWith(prefix) ? text.slice(prefix.length) : undefined;
}
