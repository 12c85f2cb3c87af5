/** The host of providers that are part of the program itself. */
export const BUILTIN_HOST = "terraform.io";
/** The namespace of providers that are part of the program itself. */
export const BUILTIN_NAMESPACE = "builtin";
/** The namespace, under the default host, of providers from before namespaces existed. */
export const LEGACY_NAMESPACE = "-";
/** The namespace of an address that names none. */
export const DEFAULT_NAMESPACE = "hashicorp";
/** The host of private providers (seed 003, `provider_source`). */
export const PRIVATE_HOST = "huawei.com";
/** The namespace of private providers. */
export const PRIVATE_NAMESPACE = "private-provider";
/** The host of providers that speak another protocol and live on this machine. */
export const LOCAL_HOST = "stackwright.local";

/** The namespaces under {@link LOCAL_HOST}: one per protocol. */
export const LOCAL_NAMESPACES = ["pulumi", "cocorpc"] as const;

/**
 * Where a provider comes from, as its address says.
 *
 * - `registry`: installed from a registry or a mirror of one.
 * - `builtin`: `terraform.io/builtin/<type>`, part of the program.
 * - `legacy`: `registry.terraform.io/-/<type>`, found in old states; never installed.
 * - `private`: `huawei.com/private-provider/<name>`, lives in a function.
 * - `pulumi`: `stackwright.local/pulumi/<name>`, a local provider of today's Pulumi protocol.
 * - `cocorpc`: `stackwright.local/cocorpc/<name>`, a local provider of the 2017 protocol.
 */
export type ProviderAddressKind =
  | "registry"
  | "builtin"
  | "legacy"
  | "private"
  | "pulumi"
  | "cocorpc";

/** The kind of an address whose parts are already in their canonical form. */
export function providerKind(
  host: string,
  namespace: string,
  defaultHost: string,
): ProviderAddressKind {
  if (namespace === LEGACY_NAMESPACE && host === defaultHost) return "legacy";
  if (host === BUILTIN_HOST && namespace === BUILTIN_NAMESPACE) return "builtin";
  if (host === PRIVATE_HOST && namespace === PRIVATE_NAMESPACE) return "private";
  if (host === LOCAL_HOST && namespace === "pulumi") return "pulumi";
  if (host === LOCAL_HOST && namespace === "cocorpc") return "cocorpc";
  return "registry";
}
