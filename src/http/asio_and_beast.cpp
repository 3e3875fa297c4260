// The parts of Boost.Asio and Boost.Beast that are no templates, compiled once. Whoever includes either links
// takt_asio_and_beast, whose definitions tell its headers so.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
