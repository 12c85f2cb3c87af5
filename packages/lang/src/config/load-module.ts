import type { Diagnostic } from "../syntax/diagnostic.ts";
import { sortDiagnostics } from "../syntax/diagnostic.ts";
import type { SyntaxLimits } from "../syntax/limits.ts";
import { type BodySchema, type ContentBlock, readAttributes, readBody } from "./body-content.ts";
import { decodeProvider } from "./decode-provider.ts";
import { decodeCheck, decodeImport, decodeMoved, decodeRemoved } from "./decode-refactoring.ts";
import { decodeModuleCall, decodeResource } from "./decode-resource.ts";
import { decodeRfsProvider, decodeTerraform } from "./decode-terraform.ts";
import { decodeOutput, decodeVariable } from "./decode-values.ts";
import type { LocalConfig, ModuleConfig, ResourceConfig } from "./module-config.ts";
import { selectModuleFiles } from "./module-files.ts";
import { mergeOverrides } from "./override.ts";
import { parseConfigBody } from "./parse-config-body.ts";
import { StaticReader } from "./static-reader.ts";
import { nameTypes, sameTypeNote } from "./type-label.ts";

/** How a module is loaded. */
export interface LoadModuleOptions {
  /** Prefix of the file names in messages, such as `modules/net/`. @default "" */
  readonly prefix?: string;
  /** Whether the forms of RFS templates are accepted, with a warning. @default false */
  readonly rfsTemplates?: boolean;
  readonly limits?: SyntaxLimits;
}

/** A module as it was written, complete as far as it was understood, and what is wrong with it. */
export interface LoadedModule {
  readonly config: ModuleConfig;
  readonly diagnostics: readonly Diagnostic[];
}

const ROOT: BodySchema = {
  blocks: {
    terraform: [],
    Provider: ["name"],
    provider: ["name"],
    variable: ["name"],
    locals: [],
    output: ["name"],
    module: ["name"],
    resource: ["type", "name"],
    data: ["type", "name"],
    ephemeral: ["type", "name"],
    moved: [],
    removed: [],
    import: [],
    check: ["name"],
    action: ["type", "name"],
    language: [],
  },
};

/** Blocks that other versions of the language have, with what is to be done about them. */
const REFUSED: Readonly<Record<string, string>> = {
  action:
    "Actions are part of Terraform 1.14. Run what the action does outside of the configuration.",
  language: 'Blocks of the type "language" are part of OpenTofu 1.12. Remove the block.',
};

/**
 * Loads the files of one folder as a module, override files last. All problems of all files are
 * reported in one run, in the order of the files. `files` are the contents by name; names that do
 * not belong to a module are passed over.
 */
export function loadModule(
  files: ReadonlyMap<string, string | Uint8Array>,
  options: LoadModuleOptions = {},
): LoadedModule {
  const diagnostics: Diagnostic[] = [];
  const { primary, override } = selectModuleFiles(files.keys());
  const read = (name: string): readonly ContentBlock[] => {
    const file = { name: `${options.prefix ?? ""}${name}`, text: files.get(name) ?? "" };
    const { blocks } = readBody(
      parseConfigBody(file, diagnostics, options.limits),
      ROOT,
      diagnostics,
    );
    for (const { type, headerRange } of blocks) {
      const advice = REFUSED[type];
      if (advice === undefined) continue;
      const detail = `Blocks of the type "${type}" are not supported. ${advice}`;
      diagnostics.push({
        severity: "error",
        code: "LANG_CONFIG",
        summary: "Unsupported block type",
        detail,
        subject: headerRange,
      });
    }
    return nameTypes(blocks);
  };
  const blocks = primary.flatMap(read);
  const reader = new StaticReader(diagnostics);
  const merged = mergeOverrides(reader, blocks, override.map(read));
  const config = new ModuleDecoder(reader, options.rfsTemplates ?? false).decode(merged);
  return { config, diagnostics: sortDiagnostics(diagnostics) };
}

class ModuleDecoder {
  readonly #reader: StaticReader;
  readonly #rfsTemplates: boolean;

  constructor(reader: StaticReader, rfsTemplates: boolean) {
    this.#reader = reader;
    this.#rfsTemplates = rfsTemplates;
  }

  decode({ blocks, settings, locals }: ReturnType<typeof mergeOverrides>): ModuleConfig {
    const reader = this.#reader;
    const of = (type: string): ContentBlock[] => blocks.filter((block) => block.type === type);
    const { requiredVersions, requiredProviders, backend, encryption } = decodeTerraform(
      reader,
      of("terraform"),
      settings,
      this.#rfsTemplates,
    );
    for (const block of of("Provider")) {
      const provider = decodeRfsProvider(reader, block, this.#rfsTemplates);
      if (provider === undefined) continue;
      this.#add(requiredProviders, provider.name, provider, "required provider");
    }
    const resources = new Map<string, ResourceConfig>();
    for (const [type, mode] of [
      ["resource", "managed"],
      ["data", "data"],
      ["ephemeral", "ephemeral"],
    ] as const) {
      for (const block of of(type)) {
        const resource = decodeResource(reader, mode, block);
        const address = `${mode === "managed" ? "" : `${mode}.`}${resource.type}.${resource.name}`;
        this.#add(resources, address, resource, type, sameTypeNote);
      }
    }
    return {
      requiredVersions,
      requiredProviders,
      ...(backend && { backend }),
      ...(encryption && { encryption }),
      providers: this.#collect(of("provider"), "provider configuration", (block) =>
        decodeProvider(reader, block),
      ),
      variables: this.#collect(of("variable"), "variable", (block) =>
        decodeVariable(reader, block),
      ),
      locals: this.#locals(of("locals"), locals),
      outputs: this.#collect(of("output"), "output", (block) => decodeOutput(reader, block)),
      modules: this.#collect(of("module"), "module call", (block) =>
        decodeModuleCall(reader, block),
      ),
      resources,
      moved: of("moved").flatMap((block) => decodeMoved(reader, block)),
      removed: of("removed").flatMap((block) => decodeRemoved(reader, block)),
      imports: of("import").flatMap((block) => decodeImport(reader, block)),
      checks: this.#collect(of("check"), "check", (block) => decodeCheck(reader, block)),
    };
  }

  #add<T extends { readonly range: ContentBlock["headerRange"] }>(
    into: Map<string, T>,
    key: string,
    item: T,
    what: string,
    note: (earlier: T, item: T) => string = () => "",
  ): void {
    const earlier = into.get(key);
    if (earlier === undefined) {
      into.set(key, item);
      return;
    }
    const { filename, start } = earlier.range.source.locate(earlier.range.start, earlier.range.end);
    const detail = `A ${what} "${key}" is declared already, at ${filename} line ${start.line}. Names must be unique in a module.${note(earlier, item)}`;
    this.#reader.fail(`Duplicate ${what}`, detail, item.range);
  }

  #collect<
    T extends {
      readonly name: string;
      readonly alias?: string | undefined;
      readonly range: ContentBlock["headerRange"];
    },
  >(
    blocks: readonly ContentBlock[],
    what: string,
    decode: (block: ContentBlock) => T | undefined,
  ): Map<string, T> {
    const items = new Map<string, T>();
    for (const block of blocks) {
      const item = decode(block);
      if (item === undefined) continue;
      const key = item.alias === undefined ? item.name : `${item.name}.${item.alias}`;
      this.#add(items, key, item, what);
    }
    return items;
  }

  /** All locals; those of override files replace others of their name. */
  #locals(
    blocks: readonly ContentBlock[],
    overrides: readonly ContentBlock[],
  ): Map<string, LocalConfig> {
    const locals = new Map<string, LocalConfig>();
    const read = (block: ContentBlock): LocalConfig[] =>
      [...readAttributes(block.body, this.#reader.diagnostics).values()].map(
        ({ name, nameRange, expression }) => ({ name, range: nameRange, expression }),
      );
    for (const local of blocks.flatMap(read)) this.#add(locals, local.name, local, "local value");
    for (const local of overrides.flatMap(read)) {
      if (!locals.has(local.name)) {
        const detail = `There is no local value "${local.name}" that this could override.`;
        this.#reader.fail("Missing base local value definition to override", detail, local.range);
      }
      locals.set(local.name, local);
    }
    return locals;
  }
}
