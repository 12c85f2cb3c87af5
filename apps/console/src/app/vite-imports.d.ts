declare module "*?worker&url" {
  /** Address of the file with the worker. */
  const url: string;
  export default url;
}

/** Sheets become files of their own, which vite loads. */
declare module "*.css";
