import { createHash } from "node:crypto";
import type { LockedPackage } from "./lock-file.ts";

/** A package of this repository in the bill. */
export interface OwnPackage {
  readonly name: string;
  readonly version: string;
  /** Names of own packages, and keys of those of others. */
  readonly needs: readonly string[];
}

/** What the bill lists. */
interface BillInputs {
  /** The first is the subject of the bill. */
  readonly own: readonly [OwnPackage, ...OwnPackage[]];
  readonly others: ReadonlyMap<string, LockedPackage>;
  readonly licenseOf: (one: LockedPackage) => string | undefined;
  readonly commit: string;
  /** Public URL of the repository, where it has one. */
  readonly repository?: string | undefined;
  readonly time: Date;
  /** Version of the Node that executables contain. */
  readonly node: string;
}

/** A bill of materials in the form of CycloneDX 1.6. Equal inputs give an equal bill. */
export function cycloneDx(inputs: BillInputs): object {
  const { own, others, licenseOf, commit, repository, time, node } = inputs;
  const [subject, ...libraries] = own;
  const components = [
    ...libraries.map((one) => ownComponent(one, "library")),
    ...[...others.values()].toSorted(byName).map((one) => ({
      type: "library",
      "bom-ref": purl(one),
      ...splitName(one.name),
      version: one.version,
      scope: "required",
      hashes: hashes(one.integrity),
      licenses: licenses(licenseOf(one)),
      purl: purl(one),
    })),
    {
      type: "platform",
      "bom-ref": `pkg:generic/node@${node}`,
      name: "node",
      version: node,
      description: "Runs the command. Part of the executables, not of the packages.",
      // Of Node itself; LICENSE-NODE in the archives has those of all that Node contains.
      licenses: licenses("MIT"),
      purl: `pkg:generic/node@${node}`,
    },
  ];
  const ownByName = new Map(own.map((one) => [one.name, one]));
  const ref = (key: string): string => purl(ownByName.get(key) ?? others.get(key) ?? missing(key));
  const dependencies = [...own, ...[...others.values()].toSorted(byName)].map((one) => ({
    ref: purl(one),
    dependsOn: [...new Set(one.needs.map(ref))].toSorted(),
  }));
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: serialNumber(`${commit}\n${JSON.stringify(components)}`),
    version: 1,
    metadata: {
      timestamp: time.toISOString(),
      component: {
        ...ownComponent(subject, "application"),
        ...(repository !== undefined && {
          externalReferences: [{ type: "vcs", url: repository }],
        }),
      },
      properties: [{ name: "stackwright:commit", value: commit }],
    },
    components,
    dependencies,
  };
}

function ownComponent(one: OwnPackage, type: "application" | "library"): object {
  return {
    type,
    "bom-ref": purl(one),
    ...splitName(one.name),
    version: one.version,
    licenses: licenses("Apache-2.0"),
    purl: purl(one),
  };
}

function byName(a: LockedPackage, b: LockedPackage): number {
  return purl(a) < purl(b) ? -1 : 1;
}

function splitName(name: string): { group?: string; name: string } {
  const [group, rest] = name.split("/");
  return rest === undefined ? { name } : { group: group ?? "", name: rest };
}

function purl({ name, version }: { readonly name: string; readonly version: string }): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hashes(integrity: string): { alg: string; content: string }[] {
  const [, digest] = /^sha512-(.+)$/.exec(integrity) ?? [];
  if (digest === undefined) return [];
  return [{ alg: "SHA-512", content: Buffer.from(digest, "base64").toString("hex") }];
}

function licenses(license: string | undefined): object[] {
  if (license === undefined) return [];
  if (/ (?:AND|OR|WITH) /.test(license)) return [{ expression: license }];
  return [{ license: { id: license } }];
}

/** A UUID in the form of version 8, whose digits are of a digest. */
function serialNumber(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ];
  return `urn:uuid:${groups.join("-")}-${hex.slice(20, 32)}`;
}

function missing(key: string): never {
  throw new Error(`${key} is needed and not in the bill`);
}
