/** The names in a new project. */
export interface TemplateNames {
  /** Full source: `example.com/acme/notes`. */
  readonly source: string;
  /** Last part of the source; types begin with it. */
  readonly name: string;
  /** The same as the beginning of a class: `Notes`. */
  readonly title: string;
  /** Versions of the libraries. */
  readonly libraries: string;
}

/** One file of a new project. */
export interface TemplateFile {
  /** Relative, with slashes. */
  readonly path: string;
  readonly text: string;
  readonly isExecutable?: boolean;
}
