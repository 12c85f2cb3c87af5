/** What a name of a module can stand for. */
export type SymbolKind =
  | "variable"
  | "local"
  | "output"
  | "module"
  | "resource"
  | "provider"
  | "run";

/** Something that a module declares; a run is declared by a test file, for that alone. */
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
  /** The names of the calls that lead to the module that has the symbol, the outermost first. @default none */
  readonly calls?: readonly string[];
  /** In a test: the run whose module has the symbol, or the first of the calls. @default the module that the file is for */
  readonly run?: string;
  /** In a test: means the variables of that name of all modules that the file is about. @default false */
  readonly isShared?: boolean;
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
  run: "run.",
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
