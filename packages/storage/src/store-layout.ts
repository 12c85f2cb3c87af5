/** Which layout the tables of a store have. Engines count the steps that led to it. */
export interface StoreLayout {
  /** The layout that the tables have; 0 where there are none yet. */
  readonly stored: number;
  /** The layout that this release works with, and that an open for writing brings the tables to. */
  readonly newest: number;
}
