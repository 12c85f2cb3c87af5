/** What a name of a module can stand for. */
export type SymbolKind = "variable" | "local" | "output" | "module" | "resource" | "provider";

/** Something that a module declares. */
export interface ModuleSymbol {
  readonly kind: SymbolKind;
  /** Of resources the address in the module, such as `data.http.page`; of providers `name` or `name.alias`. */
  readonly name: string;
}

/** A stretch of a file, in UTF-16 offsets; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A place at which the name of a symbol is written. */
export interface Occurrence {
  readonly symbol: ModuleSymbol;
  /** The name of the call whose module has the symbol. @default the module of the file */
  readonly call?: string;
  /** Of the name alone. */
  readonly span: Span;
  readonly declares: boolean;
  /** In a block that says where objects were before, and so keeps old names. @default false */
  readonly isHistory?: boolean;
}

/** A symbol where it is declared. */
export interface Declaration {
  readonly symbol: ModuleSymbol;
  /** Of the name. */
  readonly span: Span;
  /** Of the whole block or argument. */
  readonly whole: Span;
}

const PREFIXES: Readonly<Record<SymbolKind, string>> = {
  variable: "var.",
  local: "local.",
  output: "output.",
  module: "module.",
  resource: "",
  provider: "",
};

/** How expressions refer to a symbol. */
export function symbolText({ kind, name }: ModuleSymbol): string {
  return `${PREFIXES[kind]}${name}`;
}

/** The part of the name that a rename changes: of addresses the last. */
export function shortName({ kind, name }: ModuleSymbol): string {
  return kind === "resource" || kind === "provider" ? name.slice(name.lastIndexOf(".") + 1) : name;
}

/** Whether both are the same symbol of one module. */
export function sameSymbol(left: ModuleSymbol, right: ModuleSymbol): boolean {
  return left.kind === right.kind && left.name === right.name;
}
