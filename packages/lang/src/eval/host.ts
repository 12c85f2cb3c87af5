/** What functions that are more than computation get from outside. */
export interface FunctionHost {
  /** Files of the template bundle, for `file` and its relatives. Without it they fail. */
  readonly files?: BundleFiles;
  /** The present time. `timestamp` is unknown where this is undefined, as while planning. */
  readonly now?: () => Date;
  /** The time of the plan, for `plantimestamp`; unknown where it is undefined. */
  readonly planTime?: Date;
  /** Random bytes for `uuid` and `bcrypt`, whose results are unknown without it. */
  readonly randomBytes?: (size: number) => Uint8Array;
  /** Longest string that a function may make, in UTF-16 units. */
  readonly maxStringLength: number;
}

/** The machine that files are read on, where they are not those of a bundle alone. */
export interface Machine {
  /** What `path.cwd` is: the folder that the user was in, absolute. */
  readonly workingDirectory: string;
  /** What `~` is. */
  readonly home: string;
  /** The folder that a copy of the configuration has, absolute: plans name what lies below it by relative paths. @default none */
  readonly bundleRoot?: string;
}

/** Read access to the files of one template bundle and to nothing else; with `machine` to all files of the machine. */
export interface BundleFiles {
  /** Present: absolute paths, `~` and `..` beyond the root lead to files of this machine. */
  readonly machine?: Machine;
  /** What a user does who needs a file outside of the bundle: a clause without its full stop, which errors end with. @default none */
  readonly adviceOutside?: string;
  /**
   * Whether a folder may have more where the configuration comes from than it has here, so that a file that is not here may exist.
   * @default it has all
   */
  isPartial?(folder: string): boolean;
  /** Content of a file. Throws a FunctionError where it cannot be read. */
  read(path: string): Uint8Array;
  /** Frees the memory of bytes that {@link read} returned and that have no other user. */
  discard?(bytes: Uint8Array): void;
  /** Whether a regular file exists at the path. Throws for what is no regular file. */
  exists(path: string): boolean;
  /** Names of the regular files directly in a folder, sorted; none where there is no such folder. */
  names(folder: string): readonly string[];
  /** Names of the links directly in a folder that lead to no file of the bundle and to no folder, sorted. */
  brokenLinks?(folder: string): readonly string[];
  /**
   * Paths of the regular files below a folder, relative to it, with forward slashes, sorted. With a pattern those that do not
   * match it may be left out.
   */
  list(folder: string, pattern?: string): readonly string[];
  /** A folder without symbolic links in its path, on a machine; without it folders are what they are written as. */
  realFolder?(folder: string): string;
  /** The absolute form of a path, as expressions see it. */
  absolute(path: string): string;
}
