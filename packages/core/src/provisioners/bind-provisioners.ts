import {
  type BoundBody,
  bindBody,
  type ConfigBody,
  type Diagnostic,
  PROVISIONER_META,
  type ResourceConfig,
} from "@stackwright/lang";
import { CONNECTION_SCHEMA, PROVISIONER_SCHEMAS } from "./provisioner-schemas.ts";

/** The provisioners of a resource or of a `removed` block. */
export type Provisioning = Pick<ResourceConfig, "provisioners" | "connection">;

type ProvisionerConfig = Provisioning["provisioners"][number];

/** A provisioner as its schema understands it. */
export interface BoundProvisioner {
  readonly config: ProvisionerConfig;
  readonly body: BoundBody;
  /** That of the provisioner over that of the resource; undefined where there is neither. */
  readonly connection: BoundBody | undefined;
}

interface BoundProvisioning {
  /** In the order of the configuration. */
  readonly provisioners: readonly BoundProvisioner[];
  readonly diagnostics: readonly Diagnostic[];
}

const bound = new WeakMap<Provisioning["provisioners"], BoundProvisioning>();

/** Reads the provisioners by their schemas. Nothing is evaluated; done once for a block. */
export function bindProvisioners(provisioning: Provisioning): BoundProvisioning {
  let known = bound.get(provisioning.provisioners);
  if (known === undefined) {
    known = bind(provisioning);
    bound.set(provisioning.provisioners, known);
  }
  return known;
}

function bind({ provisioners, connection }: Provisioning): BoundProvisioning {
  const diagnostics: Diagnostic[] = [];
  const found = provisioners.flatMap((config): BoundProvisioner[] => {
    const schema = PROVISIONER_SCHEMAS.get(config.type);
    if (schema === undefined) {
      const available = [...PROVISIONER_SCHEMAS.keys()].join(", ");
      const detail = `No provisioner "${config.type}" exists. Available: ${available}.`;
      diagnostics.push(failure("Provisioner not found", detail, config));
      return [];
    }
    const { body, diagnostics: problems } = bindBody(config.body, schema, {
      meta: PROVISIONER_META,
    });
    diagnostics.push(...problems, ...missingParts(config, body));
    const merged = mergedBody(connection, config.connection);
    const connected =
      merged === undefined ? undefined : bindBody(merged, CONNECTION_SCHEMA, { meta: new Set() });
    diagnostics.push(...(connected?.diagnostics ?? []));
    return [{ config, body, connection: connected?.body }];
  });
  return { provisioners: found, diagnostics: unique(diagnostics) };
}

/** Arguments of the inner block replace those of the outer one, one by one. */
function mergedBody(
  outer: ConfigBody | undefined,
  inner: ConfigBody | undefined,
): ConfigBody | undefined {
  if (outer === undefined || inner === undefined) return inner ?? outer;
  return { kind: "merged-body", base: outer, over: inner };
}

/** Arguments of which exactly one is needed, and the connection, without which a provisioner cannot run. */
function missingParts(config: ProvisionerConfig, { attributes }: BoundBody): Diagnostic[] {
  const choices = {
    file: ["source", "content"],
    "remote-exec": ["inline", "script", "scripts"],
  } as Readonly<Record<string, readonly string[]>>;
  const names = choices[config.type];
  if (names === undefined) return [];
  const set = names.filter((name) => attributes.has(name));
  if (set.length === 1) return [];
  const list = names.map((name) => `"${name}"`).join(", ");
  const detail = `The provisioner ${config.type} requires exactly one of the arguments ${list}.`;
  return [failure("Invalid provisioner arguments", detail, config)];
}

function failure(summary: string, detail: string, { range }: ProvisionerConfig): Diagnostic {
  return { severity: "error", code: "LANG_CONFIG", summary, detail, subject: range };
}

/** The connection of a resource is read with each of its provisioners; its problems are reported once. */
function unique(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const seen = new Set<string>();
  return diagnostics.filter(({ summary, detail, subject }) => {
    const key = `${subject?.source.name ?? ""} ${subject?.start ?? 0} ${summary} ${detail}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
