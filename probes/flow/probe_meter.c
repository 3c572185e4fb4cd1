/* Counts arriving bytes per interval, per window and in all. */
#include "probe_meter.h"

#include "probe_json.h"

void meter_start(struct goodput_meter *meter, int64_t epoch_ns,
		 int64_t interval_ns, int64_t window_start_ns,
		 int64_t window_end_ns, bool counts_messages)
{
	*meter = (struct goodput_meter){
	    .epoch_ns = epoch_ns,
	    .interval_ns = interval_ns,
	    .window_start_ns = window_start_ns,
	    .window_end_ns = window_end_ns,
	    .counts_messages = counts_messages,
	    .first_byte_ns = NO_TIME_NS,
	    .last_byte_ns = NO_TIME_NS,
	};
}

static void report_messages(const struct goodput_meter *meter, uint64_t count)
{
	if (meter->counts_messages)
		json_unsigned("messages", count);
	else
		json_null("messages");
}

static enum window_side side_of(const struct goodput_meter *meter,
				int64_t since_ns)
{
	if (since_ns < meter->window_start_ns)
		return BEFORE_WINDOW;
	return since_ns < meter->window_end_ns ? IN_WINDOW : AFTER_WINDOW;
}

static int64_t earlier(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static int64_t later(int64_t one, int64_t other)
{
	return one > other ? one : other;
}

static void close_interval(struct goodput_meter *meter)
{
	int64_t start_ns = meter->interval_index * meter->interval_ns;
	int64_t end_ns = start_ns + meter->interval_ns;

	if (!meter->interval_is_open)
		return;
	meter->interval_is_open = false;
	if (meter->interval_side == BEFORE_WINDOW)
		end_ns = earlier(end_ns, meter->window_start_ns);
	else
		start_ns = later(start_ns, meter->window_start_ns);
	if (meter->interval_side == IN_WINDOW)
		end_ns = earlier(end_ns, meter->window_end_ns);
	if (meter->interval_side == AFTER_WINDOW)
		start_ns = later(start_ns, meter->window_end_ns);
	json_begin("interval");
	json_seconds("start_s", start_ns);
	json_seconds("end_s", end_ns);
	json_unsigned("goodput_bytes", meter->interval_bytes);
	report_messages(meter, meter->interval_messages);
	json_bool("in_window", meter->interval_side == IN_WINDOW);
	json_end();
}

static int64_t floor_divide(int64_t value, int64_t divisor)
{
	return value / divisor - (value % divisor < 0 ? 1 : 0);
}

void meter_add(struct goodput_meter *meter, int64_t t_ns, uint64_t bytes,
	       uint64_t messages)
{
	int64_t since_ns = t_ns - meter->epoch_ns;
	int64_t index = floor_divide(since_ns, meter->interval_ns);
	enum window_side side = side_of(meter, since_ns);

	if (!meter->interval_is_open || index != meter->interval_index ||
	    side != meter->interval_side) {
		close_interval(meter);
		meter->interval_is_open = true;
		meter->interval_index = index;
		meter->interval_side = side;
		meter->interval_bytes = 0;
		meter->interval_messages = 0;
	}
	meter->interval_bytes += bytes;
	meter->interval_messages += messages;
	meter->bytes += bytes;
	meter->messages += messages;
	if (side == IN_WINDOW)
		meter->window_bytes += bytes;
	if (meter->first_byte_ns == NO_TIME_NS)
		meter->first_byte_ns = t_ns;
	meter->last_byte_ns = t_ns;
}

bool meter_takes_bulk(const struct goodput_meter *meter, int64_t now_ns)
{
	int64_t since_ns = now_ns - meter->epoch_ns;

	return meter->window_end_ns != INT64_MAX && since_ns >= 0 &&
	       since_ns < meter->window_end_ns &&
	       meter->first_byte_ns != NO_TIME_NS;
}

int64_t meter_boundary_ns(const struct goodput_meter *meter, int64_t now_ns)
{
	int64_t since_ns = now_ns - meter->epoch_ns;
	int64_t end_ns = (floor_divide(since_ns, meter->interval_ns) + 1) *
			 meter->interval_ns;

	if (since_ns < meter->window_start_ns)
		end_ns = earlier(end_ns, meter->window_start_ns);
	else if (since_ns < meter->window_end_ns)
		end_ns = earlier(end_ns, meter->window_end_ns);
	return meter->epoch_ns + end_ns;
}

void meter_add_before(struct goodput_meter *meter, int64_t boundary_ns,
		      uint64_t bytes, uint64_t messages)
{
	meter_add(meter, boundary_ns - 1, bytes, messages);
	meter->last_byte_ns = NO_TIME_NS;
}

void meter_begin_totals(struct goodput_meter *meter)
{
	close_interval(meter);
	json_begin("totals");
	json_time_ns("epoch_t_ns", meter->epoch_ns);
	json_unsigned("goodput_bytes", meter->bytes);
	json_unsigned("window_goodput_bytes", meter->window_bytes);
	report_messages(meter, meter->messages);
	json_time_ns("first_byte_t_ns", meter->first_byte_ns);
	json_time_ns("last_byte_t_ns", meter->last_byte_ns);
}
