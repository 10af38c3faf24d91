/** A landing whose run is killed many times. */
import '../system/landing/landing.test.js';
