#include "route/class_hours.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

#include "route/local_time.h"
#include "route/service_class.h"

namespace takt::route {
namespace {

// The process's time zone, and back.
class InZone {
 public:
  explicit InZone(const std::string& zone) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    known_ = set_time_zone(zone).ok();
  }
  ~InZone() {
    if (before_) {
      ::setenv("TZ", before_->c_str(), 1);
    } else {
      ::unsetenv("TZ");
    }
    ::tzset();
  }
  bool known() const { return known_; }

 private:
  std::optional<std::string> before_;
  bool known_ = false;
};

ClassHours hours(std::string from, std::string to, std::vector<std::string> days = {}) {
  ClassHours hours;
  hours.from = std::move(from);
  hours.to = std::move(to);
  hours.days = std::move(days);
  EXPECT_TRUE(check_hours(hours).ok());
  return hours;
}

constexpr int kMonday = 0;
constexpr int kTuesday = 1;
constexpr int kSunday = 6;

int at(int hour, int minute = 0) {
  return hour * 60 + minute;
}

TEST(ClassHours, HoldFromTheFirstMinuteUpToTheLast) {
  const ClassHours day = hours("08:00", "18:30");
  EXPECT_FALSE(holds(day, {kMonday, at(7, 59)}));
  EXPECT_TRUE(holds(day, {kMonday, at(8)}));
  EXPECT_TRUE(holds(day, {kMonday, at(18, 29)}));
  EXPECT_FALSE(holds(day, {kMonday, at(18, 30)}));
}

TEST(ClassHours, OverMidnightBelongToTheDayOnWhichTheyBegin) {
  const ClassHours night = hours("22:00", "06:00", {"mon"});
  EXPECT_FALSE(holds(night, {kMonday, at(5)})) << "that is Sunday's night";
  EXPECT_TRUE(holds(night, {kMonday, at(22)}));
  EXPECT_TRUE(holds(night, {kTuesday, at(5, 59)}));
  EXPECT_FALSE(holds(night, {kTuesday, at(6)}));
  EXPECT_FALSE(holds(night, {kTuesday, at(22)}));
  const ClassHours sunday = hours("22:00", "06:00", {"sun"});
  EXPECT_TRUE(holds(sunday, {kSunday, at(23)}));
  EXPECT_TRUE(holds(sunday, {kMonday, at(1)})) << "the week goes round";
}

TEST(ClassHours, WholeDays) {
  const ClassHours weekend = hours("00:00", "24:00", {"sat", "sun"});
  EXPECT_TRUE(holds(weekend, {5, 0}));
  EXPECT_TRUE(holds(weekend, {kSunday, at(23, 59)}));
  EXPECT_FALSE(holds(weekend, {kMonday, 0}));
  const ClassHours from_noon_to_noon = hours("12:00", "12:00", {"sat"});
  EXPECT_FALSE(holds(from_noon_to_noon, {5, at(11)}));
  EXPECT_TRUE(holds(from_noon_to_noon, {5, at(13)}));
  EXPECT_TRUE(holds(from_noon_to_noon, {kSunday, at(11, 59)}));
}

TEST(ClassHours, WrongTimesAndDaysAreNamed) {
  for (const char* wrong : {"", "8:00", "08.00", "24:00", "23:60", "ab:cd", "08:000", "-1:00"}) {
    ClassHours made;
    made.from = wrong;
    ASSERT_FALSE(check_hours(made).ok()) << wrong;
    EXPECT_EQ(check_hours(made).error().field, "from");
  }
  ClassHours made;
  made.to = "24:01";
  EXPECT_EQ(check_hours(made).error().field, "to");
  made.to = "24:00";
  made.days = {"monday"};
  EXPECT_EQ(check_hours(made).error().field, "days");
  EXPECT_NE(check_hours(made).error().message.find("mon, tue"), std::string::npos);
}

TEST(ClassHours, TheFirstThatHoldCount) {
  ClassOptions night_work;
  night_work.always.limits.weight = 1;
  night_work.hours.push_back(hours("22:00", "06:00"));
  night_work.hours.back().settings.limits.weight = 2;
  night_work.hours.push_back(hours("20:00", "24:00"));
  night_work.hours.back().settings.limits.weight = 3;
  EXPECT_EQ(in_force(night_work, {kMonday, at(12)}).limits.weight, 1);
  EXPECT_EQ(in_force(night_work, {kMonday, at(21)}).limits.weight, 3);
  EXPECT_EQ(in_force(night_work, {kMonday, at(23)}).limits.weight, 2);
}

// In Berlin, on 29 March 2026 the clock goes from 02:00 to 03:00, on 25 October from 03:00 back to 02:00.
TEST(LocalTime, FollowsTheClockOnTheWallThroughBothChangesOfTheYear) {
  const InZone berlin("Europe/Berlin");
  if (!berlin.known()) GTEST_SKIP() << "missing: the time zone Europe/Berlin (package tzdata)";
  constexpr std::int64_t kSpring = 1774746000;  // 2026-03-29 01:00 UTC: 02:00 becomes 03:00
  EXPECT_EQ(local_time(kSpring - 60), (LocalTime{kSunday, at(1, 59)}));
  EXPECT_EQ(local_time(kSpring), (LocalTime{kSunday, at(3)}));
  constexpr std::int64_t kAutumn = 1792890000;  // 2026-10-25 01:00 UTC: 03:00 becomes 02:00
  EXPECT_EQ(local_time(kAutumn - 60), (LocalTime{kSunday, at(2, 59)}));
  EXPECT_EQ(local_time(kAutumn), (LocalTime{kSunday, at(2)}));

  // Minutes for which hours hold in that night: the skipped hour is skipped, the doubled one counts twice.
  const auto minutes_held = [](const ClassHours& held, std::int64_t around) {
    int minutes = 0;
    for (std::int64_t t = around - 12 * 3600; t < around + 12 * 3600; t += 60) minutes += holds(held, local_time(t));
    return minutes;
  };
  EXPECT_EQ(minutes_held(hours("22:00", "06:00"), kSpring), 7 * 60);
  EXPECT_EQ(minutes_held(hours("22:00", "06:00"), kAutumn), 9 * 60);
  EXPECT_EQ(minutes_held(hours("22:00", "06:00"), kSpring - 7 * 86400), 8 * 60);
  EXPECT_EQ(minutes_held(hours("02:15", "02:45"), kSpring), 0) << "a time that does not exist on that day";
  EXPECT_EQ(minutes_held(hours("02:15", "02:45"), kAutumn), 60) << "a time that comes twice";
  EXPECT_EQ(minutes_held(hours("01:30", "02:30"), kSpring), 30);
}

TEST(LocalTime, AnUnknownZoneIsRefusedAndNotTakenForUtc) {
  for (const char* wrong : {"Europe/Atlantis", "/etc/passwd", "../../etc/passwd", "Europe", "a b", "Europe/Berlin\n"}) {
    const Status set = set_time_zone(wrong);
    ASSERT_FALSE(set.ok()) << wrong;
    EXPECT_EQ(set.error().field, "server.time_zone");
  }
  EXPECT_TRUE(set_time_zone("").ok());
}

TEST(ServiceClasses, KeepTheirIndexWhateverBecomesOfTheConfiguration) {
  auto options = built_in_classes();
  options.push_back({});
  options.back().name = "night";
  options.back().always.limits.tier = Tier::kBatch;
  options.back().always.limits.reserved.seats = 2;
  const auto first = ServiceClasses::create(options, {}, nullptr);
  ASSERT_TRUE(first.ok());
  const ClassIndex night = first->find("night")->index;

  const auto without = ServiceClasses::create(built_in_classes(), {}, &*first);
  ASSERT_TRUE(without.ok());
  EXPECT_EQ(without->find("night"), nullptr);
  EXPECT_EQ(without->names().find("night"), std::string::npos);
  ASSERT_EQ(without->engine_table().size(), 7U);
  EXPECT_EQ(without->engine_table()[night.value].limits.tier, Tier::kBatch) << "requests of it may still run";
  EXPECT_EQ(without->engine_table()[night.value].limits.reserved.seats, 0U) << "nothing is kept for nobody";

  options.front().name = "shout";
  const auto again = ServiceClasses::create(options, {}, &*without);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->find("night")->index, night);
  EXPECT_EQ(again->find("shout")->index.value, 7U);
}

TEST(ServiceClasses, ThoseThatWentCountAgainstTheirNumber) {
  std::optional<ServiceClasses> table;
  for (std::uint32_t round = 0;; ++round) {
    ASSERT_LE(round, kMostClasses);
    auto options = built_in_classes();
    options.push_back({});
    options.back().name = "class" + std::to_string(round);
    auto next = ServiceClasses::create(options, {}, table ? &*table : nullptr);
    if (!next.ok()) {
      EXPECT_NE(next.error().message.find("32"), std::string::npos);
      break;
    }
    table = *next;
  }
}

}  // namespace
}  // namespace takt::route
