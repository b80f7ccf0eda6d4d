/** How many requests are being worked on in a server, and how many may be. */
export interface Places {
  taken: number
  readonly most: number
}
