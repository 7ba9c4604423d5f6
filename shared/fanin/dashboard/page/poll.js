// When the page asks again.

const LEAST = 2, // where the answer asks for no pause
  MOST = 25,
  SLOWER = 10,
  SPREAD = 0.2; // seconds, seconds, answer times, share

// Seconds until the next poll: as the answer asks, at least ten answer times, twice as many after each failure;
// at most 30, spread by *chance* (0 to 1).
export function pause(asked, answerSeconds, failures, chance) {
  const wanted = Math.max(asked ?? LEAST, SLOWER * answerSeconds) * 2 ** Math.min(failures, 8);
  return Math.min(MOST, wanted) * (1 + SPREAD * chance);
}
