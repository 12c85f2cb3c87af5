import { isStrictVersion } from "@stackwright/provider-source";
import { invalidField, RegistryError } from "../errors.ts";

// Lengths and patterns of the fields, as the API's published schema has them (seed 003, and its
// OpenAPI definition). Lengths count characters, not UTF-16 units, and are checked before patterns,
// so that no pattern ever sees a long text.

/** Lengths of a text, both ends included. */
interface LengthRange {
  readonly min: number;
  readonly max: number;
}

export const LENGTHS = Object.freeze({
  provider_name: { min: 1, max: 64 },
  provider_description: { min: 0, max: 1024 },
  provider_version: { min: 5, max: 128 },
  version_description: { min: 0, max: 1024 },
  function_graph_urn: { min: 32, max: 256 },
  provider_id: { min: 36, max: 36 },
  provider_agency_name: { min: 0, max: 64 },
  marker: { min: 1, max: 512 },
  client_request_id: { min: 36, max: 128 },
} satisfies Record<string, LengthRange>);

/**
 * The published pattern is `^[0-9a-z]([0-9a-z-]*[0-9a-z])*$`; this one accepts the same texts without
 * its nested repetition. Without the `m` flag `$` is the very end: no final newline gets through.
 */
const PROVIDER_NAME = /^[0-9a-z](?:[0-9a-z-]*[0-9a-z])?$/;
const PROVIDER_ID = /^[a-z0-9][a-z0-9-]*$/;
const AGENCY_URN = /^(?:iam:\*?:[A-Za-z0-9-]{1,64}:agency:.{1,64})?$/u;

/**
 * Refuses a text that is too long or too short.
 *
 * @param form what the text is, and an example, for those who wrote something else
 */
export function checkLength(
  field: string,
  text: string,
  { min, max }: LengthRange,
  form?: string,
): void {
  const more = form === undefined ? "" : `: ${form}`;
  // A character has at most two units: a text of this length is too long with any content.
  const length = text.length > 2 * max ? text.length : Array.from(text).length;
  if (length > max) {
    throw invalidField(field, "too-long", `${field} must have at most ${max} characters${more}`);
  }
  if (length < min) {
    throw invalidField(field, "too-short", `${field} must have at least ${min} characters${more}`);
  }
}

export function checkProviderName(name: string): void {
  checkLength("provider_name", name, LENGTHS.provider_name);
  if (!PROVIDER_NAME.test(name)) {
    throw invalidField(
      "provider_name",
      "pattern",
      "provider_name consists of lower-case letters, digits and hyphens, and begins and ends with a letter or digit",
    );
  }
}

export function checkProviderId(id: string): void {
  checkLength("provider_id", id, LENGTHS.provider_id);
  if (!PROVIDER_ID.test(id)) {
    throw invalidField("provider_id", "pattern", "provider_id is a UUID in lower case");
  }
}

const VERSION_FORM = "it is a semantic version, such as 1.0.0";

/** Versions are semantic versions, and different when their texts are (seed 003). */
export function checkProviderVersion(version: string): void {
  checkLength("provider_version", version, LENGTHS.provider_version, VERSION_FORM);
  if (!isStrictVersion(version)) {
    throw invalidField(
      "provider_version",
      "pattern",
      "provider_version must be a semantic version, such as 1.0.0",
    );
  }
}

export function checkAgencies(urn: string, name: string): void {
  if (!AGENCY_URN.test(urn)) {
    throw invalidField(
      "provider_agency_urn",
      "pattern",
      "provider_agency_urn has the form iam::<account>:agency:<name>",
    );
  }
  checkLength("provider_agency_name", name, LENGTHS.provider_agency_name);
  if (urn !== "" && name !== "") {
    throw invalidField(
      "provider_agency_name",
      "contradiction",
      "provider_agency_urn and provider_agency_name exclude each other",
    );
  }
}

/** Refuses an id that belongs to another provider than the name it came with. */
export function checkIdMatches(given: string | undefined, actual: string): void {
  if (given !== undefined && given !== actual) {
    throw new RegistryError(
      "REGISTRY_ID_MISMATCH",
      "provider_id is not that of the provider with this name",
    );
  }
}

/**
 * What a name leads to that the registry takes but the command does not: a template could never
 * name such a provider.
 */
export function nameWarnings(name: string): readonly string[] {
  const warnings: string[] = [];
  if (name.includes("--")) {
    warnings.push("Terraform refuses names with two hyphens in a row in a source address");
  }
  if (name.startsWith("terraform-provider-") || name.startsWith("terraform-")) {
    warnings.push('Terraform refuses names that begin with "terraform-" in a source address');
  }
  if (/^[0-9]/.test(name)) {
    warnings.push("a name that begins with a digit cannot be the local name of a provider");
  }
  return warnings;
}
