/**
 * Namespaces whose name says who publishes in them. They are not given to the account that asks first: in a
 * template such a name is read as that of the vendor, or as one of this product's own.
 */
const WELL_KNOWN: ReadonlySet<string> = new Set(
  [
    // The command, its builtin providers, and this product.
    "builtin hashicorp opentofu pulumi stackwright terraform terraformproviders tofu",
    // Words that read as an authority.
    "admin community integrations internal official operator partner partners private public",
    "registry root system trusted verified",
    // Platforms and vendors with providers of their own.
    "akamai alibaba aliyun amazon aws azure cisco cloudflare datadog digitalocean docker elastic",
    "fastly gcp github gitlab google googlecloud grafana helm heroku hetzner hetznercloud huawei",
    "huaweicloud ibm ibmcloud kubernetes linode microsoft mongodb newrelic nvidia okta openstack",
    "opentelekomcloud oracle ovh paloaltonetworks redhat scaleway snowflake splunk suse tencent",
    "tencentcloud vmware",
  ].flatMap((line) => line.split(" ")),
);

/** Whether a namespace is granted by operators alone. Dashes do not make another name of it. */
export function isReservedNamespace(name: string, further: readonly string[]): boolean {
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "");
  return WELL_KNOWN.has(plain(name)) || further.some((other) => plain(other) === plain(name));
}
